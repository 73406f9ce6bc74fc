"""Everything the model says of one mapping, in plain numbers: what `evaluate`, `explain` and the tables print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mapper.arch.accelerator import Accelerator
from mapper.cost.batch import Evaluations, evaluate_nests, networks_of
from mapper.cost.energy import total
from mapper.cost.filling import fill_drain_cycles
from mapper.cost.latency import sharing_of
from mapper.cost.passages import Passage, passages
from mapper.counts.geometry import Geometry
from mapper.counts.multicast import max_multicast
from mapper.mapping.loopnest import LoopNest, Nests
from mapper.sparsity.balance import Imbalance
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload.einsum import Einsum

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Item:
    """One line of the breakdown: words (or events), bits and picojoules of an action; expectations have fractions."""

    component: str
    tensor: str
    action: str
    count: int | float
    bits: int | float
    energy_pj: float


@dataclass(frozen=True)
class Occupancy:
    """What one buffer holds, in bits, double buffering included; `capacity_bits` None: unlimited."""

    buffer: str
    tensors: dict[str, int]
    capacity_bits: int | None

    @property
    def bits(self) -> int:
        return sum(self.tensors.values())

    @property
    def fits(self) -> bool:
        return self.capacity_bits is None or self.bits <= self.capacity_bits


@dataclass(frozen=True)
class Edge:
    """Words on the way from a level to what it serves: mean and largest number of receivers of one read."""

    level: str
    tensor: str
    reads: int
    delivered: int
    multicast: float
    multicast_max: int


@dataclass(frozen=True)
class Evaluation:
    """Cost of one mapping. Units are in the names; dense counts are exact integers, those of zeros that are known as
    densities are expectations.

    `bounds` gives the cycles that compute and each limited port need; the largest is `cycles`, its name `bound_by`.
    `effectual_macs` are those the hardware executes: all but the zeros that it skips or gates. `utilization` is
    effectual macs / (cycles x compute units). `imbalance` is that of the working sets, None where zeros save no cycles.
    `tiles[(level, tensor)]` in words. `padding[tensor]` is what level 0 would read more if it stored the padding.
    """

    einsum: Einsum
    accelerator: Accelerator
    nests: Nests
    mapping: LoopNest
    macs: int
    points: int
    cycles: int
    fill_drain_cycles: int
    bounds: dict[str, int]
    items: tuple[Item, ...]
    tiles: dict[tuple[str, str], int]
    occupancy: tuple[Occupancy, ...]
    edges: tuple[Edge, ...]
    reductions: dict[tuple[str, str], int]
    temporal_reductions: int
    padding: dict[str, int]
    effectual_points: int | float
    effectual_macs: int | float
    imbalance: Imbalance | None = None
    sparsity: Sparsity = DENSE

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """How tensors pass the fan-outs; found when asked for."""
        return tuple(passages(networks_of(self.nests.without_unit_slots(), self.accelerator, self.sparsity)))

    @cached_property
    def energy_pj(self) -> float:
        return float(total(np.array([item.energy_pj]) for item in self.items)[0])

    @property
    def edp_pj_cycles(self) -> float:
        return self.energy_pj * self.cycles

    @property
    def bound_by(self) -> str:
        return max(self.bounds, key=lambda name: self.bounds[name])

    @property
    def utilization(self) -> float:
        return self.effectual_macs / (self.cycles * self.accelerator.pes) if self.cycles else 0.0

    @property
    def fits(self) -> bool:
        return all(o.fits for o in self.occupancy)

    def energy_by(self, field: str) -> dict[str, float]:
        """Picojoules per `component`, `tensor` or `action`."""
        out: dict[str, float] = {}
        for item in self.items:
            key = getattr(item, field)
            out[key] = out.get(key, 0.0) + item.energy_pj
        return out

    @cached_property
    def reuse(self) -> dict[tuple[str, str], float]:
        """Per (level, tensor): accesses served per word filled; accumulated tensor: updates per word drained."""
        words = {(i.component, i.tensor, i.action): i.count for i in self.items}
        out = {}
        for edge in self.edges:
            level = self.accelerator.levels[self.accelerator.level_names.index(edge.level)]
            buffer = level.buffer(self.einsum.tensor(edge.tensor)).name
            output = edge.tensor == self.einsum.output.name
            served = words[buffer, edge.tensor, "updates"] if output else edge.delivered
            entered = words.get((buffer, edge.tensor, "drains" if output else "fills"), 0)
            if entered:
                out[edge.level, edge.tensor] = served / entered
        return out

    @property
    def counts(self) -> pd.DataFrame:
        """Words by level, tensor and action, as a tidy frame."""
        import pandas as pd

        levels = {buffer.name: level.name for level in self.accelerator.levels for buffer in level.buffers}
        rows = [(levels[i.component], i.tensor, i.action, i.count) for i in self.items if i.tensor]
        return pd.DataFrame(rows, columns=["level", "tensor", "action", "count"])

    def breakdown(self) -> pd.DataFrame:
        """Every charge: component, tensor, action, count, bits, energy_pj."""
        import pandas as pd

        return pd.DataFrame([astuple(i) for i in self.items], columns=[f.name for f in fields(Item)])


def evaluate_one(nests: Nests, accelerator: Accelerator, sparsity: Sparsity = DENSE) -> Evaluation:
    """Evaluate the single mapping of `nests`."""
    return evaluation_of(evaluate_nests(nests.without_unit_slots(), accelerator, sparsity), nests)


def evaluation_of(found: Evaluations, nests: Nests) -> Evaluation:
    """The first mapping of a batch evaluation in plain numbers; `nests` holds it with all its slots."""
    einsum, accelerator = nests.einsum, found.accelerator
    names = accelerator.level_names
    return Evaluation(
        einsum=einsum,
        accelerator=accelerator,
        nests=nests,
        mapping=nests.nest(0, names, accelerator.open_levels),
        macs=einsum.macs,
        points=einsum.points,
        cycles=int(found.costs.cycles[0]),
        fill_drain_cycles=fill_drain_cycles(Geometry(found.nests), accelerator, found.moves),
        bounds={name: int(cycles[0]) for name, cycles in found.bounds.items()},
        items=tuple(_items(found)),
        tiles={(names[level], tensor): int(words[0]) for (level, tensor), words in found.tile_words.items()},
        occupancy=tuple(_occupancies(found)),
        edges=tuple(_edges(found)),
        reductions={(names[level], tensor): int(n[0]) for (level, tensor), n in found.traffic.reductions.items()},
        temporal_reductions=int(found.traffic.temporal_reductions[0]),
        padding={tensor: int(words[0]) for tensor, words in found.traffic.padding.items()},
        effectual_points=found.moves.effectual_points,
        effectual_macs=found.moves.effectual_macs,
        imbalance=_imbalance(found),
        sparsity=found.moves.sparsity,
    )


def _imbalance(found: Evaluations) -> Imbalance | None:
    kind = found.waits.of(0)
    return kind and kind[1]


def _items(found: Evaluations) -> Iterable[Item]:
    for (component, tensor, action), charge in found.charges.items():
        count, bits = number(charge.count[0]), number(charge.bits[0])
        yield Item(component, tensor, action, count, bits, float(charge.energy_pj[0]))


def number(value: float | np.integer | np.floating) -> int | float:
    """A whole number as an integer."""
    return int(value) if float(value).is_integer() else float(value)


def _occupancies(found: Evaluations) -> Iterable[Occupancy]:
    for index, level in enumerate(found.accelerator.levels):
        for buffer in level.buffers:
            held = {
                tensor: int(bits[0])
                for (at, tensor), bits in found.tensor_bits.items()
                if at == index and level.buffer(found.nests.einsum.tensor(tensor)) is buffer
            }
            yield Occupancy(buffer.name, held, buffer.capacity_bits)


def _edges(found: Evaluations) -> Iterable[Edge]:
    most = max_multicast(found.nests, sharing_of(found.accelerator))
    for (level, tensor), delivered in found.traffic.delivered.items():
        # Reads of a level for compute and for a level below cannot both occur: one tensor, one next keeper.
        reads = int(found.traffic.words[level, tensor, "reads"][0])
        words = int(delivered[0])
        made = int(found.traffic.padding[tensor][0]) if level == 0 and tensor in found.traffic.padding else 0
        mean = words / (reads + made) if reads + made else 1.0
        largest = int(most[level, tensor][0]) if (level, tensor) in most else 1
        yield Edge(found.accelerator.level_names[level], tensor, reads, words, mean, largest)
