"""What really moves of the sliding tensors, executed step by step, for all edges that are short enough."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

from mapper.cost import Evaluation
from tests.golden.cases import slides
from tests.golden.convert import Key
from tests.oracle import Loop, Nest, OracleCounts, move_operand

MAX_WORK = 1_500_000
"""Steps x instances x words of a tile: about a second."""


def executed_moves(evaluation: Evaluation) -> dict[Key, int]:
    """Words over all instances, into each level (fills) and out of the one that serves it (reads)."""
    nests, names = evaluation.nests, evaluation.accelerator.level_names
    slots = zip(nests.slots, nests.factors[0].tolist(), strict=True)
    loops = [Loop(slot.level, slot.kind, slot.dimension, factor) for slot, factor in slots]
    nest = Nest(evaluation.einsum, loops, nests.keeps, ((True, True),) * len(names))
    moves: dict[Key, int] = {}
    for tensor in evaluation.einsum.operands:
        for parent, child in itertools.pairwise(nest.chain(tensor)):
            tile = evaluation.tiles[names[child], tensor.name]
            if slides(evaluation.einsum, tensor.name) and _rounds(loops, child) * tile <= MAX_WORK:
                counts = OracleCounts(counts=defaultdict(int), instance=defaultdict(dict), edge=_Edges())
                move_operand(nest, tensor, parent, child, counts)
                moves[names[child], tensor.name, "fills"] = counts[child, tensor.name, "fills"]
                moves[names[parent], tensor.name, "reads"] = counts[parent, tensor.name, "reads"]
    return moves


def _rounds(loops: list[Loop], level: int) -> int:
    """Steps of `level` times its instances."""
    return math.prod(loop.factor for loop in loops if loop.level < level)


class _Edges(defaultdict[tuple[int, str], dict[str, int]]):
    """Edges that have seen nothing yet."""

    def __missing__(self, key: tuple[int, str]) -> dict[str, int]:
        self[key] = {"reductions": 0, "max_multicast": 0}
        return self[key]
