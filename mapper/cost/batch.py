"""Cost of an array of mappings that share a loop structure: capacity, cycles, energy, one function for one or many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mapper.arch.accelerator import Accelerator
from mapper.cost.energy import Charge, ChargeKey, Floats, charges, total
from mapper.cost.events import event_charges
from mapper.cost.latency import LARGEST, cycles_by_bound, sharing_of
from mapper.cost.network import Networks
from mapper.cost.precision import Precision
from mapper.cost.waiting import Waits, waiting
from mapper.counts.geometry import Bools, Geometry, groups
from mapper.counts.tiles import tile_words
from mapper.counts.traffic import ACTIONS, Traffic, count_group, output_words
from mapper.errors import InputError
from mapper.mapping.loopnest import Ints, Nests
from mapper.sparsity.room import compressed_bits
from mapper.sparsity.zeros import DENSE, Moves, Sparsity
from mapper.workload.einsum import Einsum

CHUNK = 2048
"""Mappings evaluated at a time: small enough that the arrays stay in the processor's cache."""


@dataclass(frozen=True)
class Costs:
    """What search ranks: cycles, energy and whether the mapping fits, one entry per mapping."""

    cycles: Ints
    energy_pj: Floats
    feasible: Bools

    @property
    def edp(self) -> Floats:
        """Energy-delay product in pJ x cycles; what does not fit has no cycles, and infinity times 0 is no number."""
        return np.where(self.feasible, self.energy_pj, np.inf) * np.maximum(self.cycles, 1)


@dataclass(frozen=True)
class Evaluations:
    """Everything the model says of each mapping of `nests` on `accelerator`.

    `tile_words[(level, tensor)]`, `tensor_bits[(level, tensor)]` (what it takes of its buffer, double buffering
    included), `bounds[resource]` in cycles, `charges[(component, tensor, action)]`.
    """

    nests: Nests
    accelerator: Accelerator
    traffic: Traffic
    tile_words: dict[tuple[int, str], Ints]
    tensor_bits: dict[tuple[int, str], Ints]
    bounds: dict[str, Ints]
    charges: dict[ChargeKey, Charge]
    costs: Costs
    moves: Moves
    waits: Waits


def evaluate_nests(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> Evaluations:
    """Evaluate every mapping; all rows must have the same uneven spatial slots (see `counts.geometry.groups`)."""
    check_bits(nests, accelerator)
    paths = networks_of(nests, accelerator, sparsity)
    geometry, precision, moves = paths.geometry, paths.precision, paths.moves
    traffic = count_group(geometry, paths.sharing)
    waits = waiting(geometry, moves)
    bounds = cycles_by_bound(paths, waits.cycles)
    cycles = np.max(list(bounds.values()), axis=0)
    charged = charges(traffic, precision, output_words(nests), cycles, moves, paths)
    charged |= event_charges(geometry, traffic, moves, waits)
    tiles = kept_tiles(geometry)
    held = tensor_bits(precision, tiles, moves)
    energy = total(charge.energy_pj for charge in charged.values())
    costs = Costs(cycles, energy, fits(precision, held))
    return Evaluations(nests, accelerator, traffic, tiles, held, bounds, charged, costs, moves, waits)


def networks_of(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> Networks:
    """The networks under every mapping, rows as in `evaluate_nests`."""
    precision = Precision(Geometry(nests), accelerator)
    return Networks(precision, moves_of(nests.einsum, accelerator, sparsity, nests.keeps), sharing_of(accelerator))


@lru_cache(maxsize=256)
def moves_of(einsum: Einsum, accelerator: Accelerator, sparsity: Sparsity, keeps: tuple[frozenset[str], ...]) -> Moves:
    """Counting the pairs of two masks takes a while, and many batches share it."""
    return Moves(einsum, accelerator, sparsity, keeps)


def rank_costs(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> Costs:
    """Only what search ranks, for any number of mappings, in chunks; those that do not fit cost infinite energy."""
    return rank_counted(nests, accelerator, sparsity)[0]


def rank_counted(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> tuple[Costs, Ints]:
    """The same, and a row of words per mapping, in a fixed order: equal rows mean equal counts for every tensor.

    Rows of mappings that do not fit are zero.
    """
    check_bits(nests, accelerator)
    size = len(nests)
    cycles, energy = np.zeros(size, dtype=np.int64), np.full(size, np.inf)
    feasible, counts = np.zeros(size, dtype=bool), np.zeros((size, 0), dtype=np.int64)
    for start in range(0, size, CHUNK):
        chunk = nests.take(slice(start, start + CHUNK))
        fitting = start + np.flatnonzero(fits_nests(chunk, accelerator, sparsity))
        if fitting.size:
            feasible[fitting] = True
            for rows, geometry in groups(nests.take(fitting).without_unit_slots()):
                found = evaluate_nests(geometry.nests, accelerator, sparsity)
                cycles[fitting[rows]], energy[fitting[rows]] = found.costs.cycles, found.costs.energy_pj
                words = np.stack([found.traffic.words[key] for key in sorted(found.traffic.words)], axis=1)
                if not counts.shape[1]:
                    counts = np.zeros((size, words.shape[1]), dtype=np.int64)
                counts[fitting[rows]] = words
    return Costs(cycles, energy, feasible), counts


def check_bits(nests: Nests, accelerator: Accelerator) -> None:
    """Refuse problems whose sums of bits would not fit 63-bit integers, instead of letting them wrap.

    No tensor moves, or is held, more than one word per action and point (idle lanes included); a port or a buffer adds
    up the actions of all tensors.
    """
    points = float(np.prod(nests.factors.astype(np.float64), axis=1).max(initial=1.0))
    bits = max(bits for _, bits in accelerator.bits) * len(ACTIONS) * len(nests.einsum.tensors)
    if points * bits >= LARGEST:
        most = f"at most {LARGEST / bits:.3g} points"
        raise InputError(f"{points:.3g} points that move up to {bits} bits each do not fit 63-bit integers", hint=most)


def fits_nests(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> Bools:
    """Whether each mapping's tiles fit the buffers."""
    geometry = Geometry(nests)
    precision = Precision(geometry, accelerator)
    moves = moves_of(nests.einsum, accelerator, sparsity, nests.keeps)
    return fits(precision, tensor_bits(precision, kept_tiles(geometry), moves))


def kept_tiles(geometry: Geometry) -> dict[tuple[int, str], Ints]:
    """Words of the largest tile of each tensor at each level that keeps it."""
    einsum = geometry.nests.einsum
    return {
        (level, tensor.name): tile_words(geometry, tensor, level)
        for level, names in enumerate(geometry.nests.keeps)
        for tensor in einsum.tensors
        if tensor.name in names
    }


def tensor_bits(
    precision: Precision, tiles: dict[tuple[int, str], Ints], moves: Moves | None = None
) -> dict[tuple[int, str], Ints]:
    """Bits that each tensor takes of its buffer at each level, twice where that is double buffered.

    With `moves`, a compressed tile takes what its nonzeros and metadata take (`sparsity.room`).
    """
    einsum, levels = precision.geometry.nests.einsum, precision.accelerator.levels
    out = {}
    for (level, name), words in tiles.items():
        tensor = einsum.tensor(name)
        copies = 2 if levels[level].buffer(tensor).double_buffered else 1
        bits = words * precision.stored_bits(tensor, level)
        if moves is not None and moves.compressed(level, tensor):
            bits = compressed_bits(moves, precision.geometry.nests, tensor, level)
        out[level, name] = bits * copies
    return out


def fits(precision: Precision, held: dict[tuple[int, str], Ints]) -> Bools:
    """Whether every buffer holds what each mapping asks of it."""
    einsum = precision.geometry.nests.einsum
    out = np.ones(precision.geometry.rows, dtype=bool)
    for index, level in enumerate(precision.accelerator.levels):
        for buffer in level.buffers:
            if buffer.capacity_bits is not None:
                bits = precision.geometry.ones * 0
                for tensor in einsum.tensors:
                    if tensor.role in buffer.roles and (index, tensor.name) in held:
                        bits = bits + held[index, tensor.name]
                out &= bits <= buffer.capacity_bits
    return out
