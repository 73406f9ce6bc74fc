"""From our counts to those of two other simulators, and from Timeloop's way of writing a mapping to ours.

Both simulators report the mean over the used instances of a level, and treat the accumulated tensor in their own way.
A tile that comes back is refilled in *every* child that is reduced with others; here in the first one only, and the
others start from zero. So with |Z| words and `lanes` reducing lanes above a level, |Z| x lanes sums start from zero
there, once each, and in both simulators

    reads = updates - |Z| x lanes                (the first update of a sum reads nothing)
    fills = words that enter - |Z| x lanes

except that the Procrustes simulator also counts the zero fill (fills = words that enter), and that with Timeloop's
option `rmw_first_update` the first visit fills and reads as well. Operands need no conversion.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mapper.cost import Evaluation
from mapper.mapping import LevelLoops, LoopNest, Nests

Key = tuple[str, str, str]
"""Level, tensor, action."""

Counts = dict[Key, Fraction]
"""Words per used instance; what is absent is 0."""


@dataclass(frozen=True)
class Convention:
    """How a simulator counts the accumulated tensor.

    Is the first visit of a word a fill, is it a read? And does it print temporal reductions, one per read?
    """

    first_fill: bool
    first_read: bool
    temporal_reductions: bool


PROCRUSTES = Convention(first_fill=True, first_read=False, temporal_reductions=False)
TIMELOOP = Convention(first_fill=False, first_read=False, temporal_reductions=True)
TIMELOOP_RMW = Convention(first_fill=True, first_read=True, temporal_reductions=True)


def used_instances(nests: Nests, level: int) -> int:
    """Instances of `level` that the mapping uses; the compute units are one more level, below the last."""
    return _lanes(nests, level, frozenset(nests.einsum.dimensions))


def zero_starts(nests: Nests, level: int) -> int:
    """Sums that start from zero at `level`: each word of the accumulated tensor in each reducing lane, once."""
    einsum = nests.einsum
    words = math.prod(einsum.extent[d] for d in einsum.output.dimensions)
    return words * _lanes(nests, level, einsum.reductions)


def _lanes(nests: Nests, level: int, dimensions: frozenset[str]) -> int:
    """Lanes above `level` that spread any of `dimensions`."""
    loops = zip(nests.slots, nests.factors[0].tolist(), strict=True)
    spread = (n for slot, n in loops if slot.kind != "t" and slot.level < level and slot.dimension in dimensions)
    return math.prod(spread)


def converted(evaluation: Evaluation, convention: Convention) -> Counts:
    """Our counts as a simulator of that convention reports them; a level has one buffer, of its own name."""
    nests, names = evaluation.nests, evaluation.accelerator.level_names
    output = nests.einsum.output.name
    totals = {(item.component, item.tensor, item.action): item.count for item in evaluation.items if item.tensor}
    for level, name in enumerate(names):
        if (name, output, "updates") in totals:
            zeros = zero_starts(nests, level)
            totals[name, output, "reads"] = totals[name, output, "updates"] - (0 if convention.first_read else zeros)
            if convention.temporal_reductions:
                totals[name, output, "temporal_reductions"] = totals[name, output, "reads"]
        if (name, output, "drains") in totals:
            entered = totals.pop((name, output, "drains"))
            totals[name, output, "fills"] = entered - (0 if convention.first_fill else zeros)
    return {key: Fraction(int(count), used_instances(nests, names.index(key[0]))) for key, count in totals.items()}


def timeloop_nest(directives: Sequence[dict[str, Any]], levels: Sequence[str]) -> LoopNest:
    """Timeloop's mapping directives as a loop nest; `levels` outermost first.

    Residual factors (`M=4,2`) are dropped: the bound of the dimension implies them.
    """
    loops = {name: LevelLoops(name) for name in levels}
    for directive in directives:
        target = directive["target"]
        loops[target] = replace(loops[target], **_loops(directive))
    return LoopNest(tuple(loops.values()))


def _loops(directive: dict[str, Any]) -> dict[str, Any]:
    """What one directive says of its level, as fields of `LevelLoops`."""
    if directive["type"] == "datatype":
        return {"keeps": frozenset(directive["keep"])}
    permutation = directive["permutation"]
    inner_to_outer = sorted(_factors(directive["factors"]).items(), key=lambda loop: permutation.index(loop[0]))
    if directive["type"] == "temporal":
        return {"temporal": tuple(reversed(inner_to_outer))}
    columns = permutation[: directive["split"]]
    x = tuple(loop for loop in inner_to_outer if loop[0] in columns)
    return {"x": x, "y": tuple(loop for loop in inner_to_outer if loop not in x)}


def _factors(text: str) -> dict[str, int]:
    """`"M=4,2 N3"` as {M: 4, N: 3}."""
    factors = {}
    for word in text.split():
        match = re.fullmatch(r"([A-Z])=?(\d+)(?:,\d+)?", word)
        if not match:
            raise ValueError(f"not a factor: {word!r}")
        factors[match[1]] = int(match[2])
    return factors
