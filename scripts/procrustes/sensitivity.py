"""What the assumptions are worth: the same mappings costed again under others, and what a figure of the paper takes.

A mapping is the best under the assumptions that it was searched for; a search under the others could only add to the
savings of Procrustes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import starmap
from multiprocessing import get_context

from mapper.arch import Accelerator, load_arch
from mapper.report.formats import Table
from mapper.sparsity.given import ZerosGiven
from procrustes.assumptions import Assumptions
from procrustes.costs import ALL, DENSE, MAIN, SPARSE, Cost, Study, recosted, total
from procrustes.paper import PUBLISHED, Published
from procrustes.tables import dense_of, sparse_of

AS_ASSUMED = "as assumed"
DENSE_ZEROS = ZerosGiven()
ACTIVATIONS = (0.3, 0.5, 0.7)
UNIFORM = "weights uniform"
SPARSEST = f"{UNIFORM}, activations {ACTIVATIONS[0]:g}"
SCENARIOS = (AS_ASSUMED, UNIFORM, SPARSEST)
"""Assumptions under which the paper's figures are looked at."""


@dataclass(frozen=True)
class Variant:
    """Another assumption: `assumptions` and `balance` None are those of the study, `accelerators` dense and sparse."""

    name: str
    assumptions: Assumptions
    balance: str | None = None
    accelerators: tuple[Accelerator, Accelerator] | None = field(default=None, repr=False)


Costs = tuple[Cost, Cost]
"""Of the dense and of the sparse design."""
Call = tuple[Study, str, Sequence[Variant]]


def variants(study: Study) -> tuple[Variant, ...]:
    """Each assumption by itself, and the two that make weight update as sparse as forward."""
    own = study.assumptions
    dense, sparse = study.accelerators
    others = {"erk": "weights by ERK", "uniform": UNIFORM, "global": "weights by one threshold"}
    ratios = load_arch("dense_baseline_eyeriss_ratios"), load_arch("procrustes_eyeriss_ratios")
    return (
        *(Variant(text, replace(own, allocation=name)) for name, text in others.items() if name != own.allocation),
        *(Variant(f"activations {density:g}", replace(own, activations=density)) for density in ACTIVATIONS),
        Variant(SPARSEST, replace(own, allocation="uniform", activations=ACTIVATIONS[0])),
        Variant("bottlenecks as other activations", replace(own, bottlenecks=False)),
        Variant("no balancing", own, "none"),
        Variant("perfect balancing", own, "ideal"),
        Variant("units for zeros free", own, None, (dense, _free(sparse))),
        Variant("energies 1 : 6 : 200 of Eyeriss", own, None, ratios),
    )


def _free(sparse: Accelerator) -> Accelerator:
    """Without the energy of the units that handle zeros."""
    if sparse.zeros is None:
        return sparse
    return replace(sparse, zeros=replace(sparse.zeros, overhead_energy=0.0, events=()))


@contextmanager
def sensitivity(study: Study, asked: Iterable[Variant], jobs: int = 1) -> Iterator[Callable[[], tuple[Table, Table]]]:
    """Energy savings, and speedups, of the three phases together under each variant, by network.

    Other processes work on them while the caller does other things; what this gives waits for them.
    """
    every = (Variant(AS_ASSUMED, study.assumptions), *asked)
    calls = [(study.compared(n), n, every[job::jobs]) for n in study.networks for job in range(jobs)]
    if jobs == 1:
        yield lambda: _tables(every, calls, starmap(_costs, calls))
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as executor:
        costs = executor.map(_costs, *zip(*calls, strict=True))
        yield lambda: _tables(every, calls, costs)


def _tables(every: Sequence[Variant], calls: Sequence[Call], found: Iterable[list[Costs]]) -> tuple[Table, Table]:
    energies: dict[str, dict[str, float]] = {variant.name: {} for variant in every}
    speeds: dict[str, dict[str, float]] = {variant.name: {} for variant in every}
    for (_, network, some), costs in zip(calls, found, strict=True):
        for variant, (dense, sparse) in zip(some, costs, strict=True):
            energies[variant.name][network] = dense.energy_pj / sparse.energy_pj
            speeds[variant.name][network] = dense.cycles / sparse.cycles
    return _rows("sensitivity_energy", energies), _rows("sensitivity_speed", speeds)


def _costs(study: Study, network: str, asked: Sequence[Variant]) -> list[Costs]:
    return [_under(study, network, variant) for variant in asked]


def _rows(name: str, found: dict[str, dict[str, float]]) -> Table:
    return Table(name, tuple({"assumption": assumption, **by_network} for assumption, by_network in found.items()))


def _under(study: Study, network: str, variant: Variant) -> Costs:
    """Costs of both designs under a variant."""
    dense, sparse = study.best(network, DENSE, MAIN), study.best(network, SPARSE, MAIN)
    if variant.name == AS_ASSUMED:
        return total(dense), total(sparse)
    pair = variant.accelerators or study.accelerators
    if pair[0] is not study.accelerators[0]:
        dense = recosted(dense, DENSE_ZEROS, pair[0])
    zeros = variant.assumptions.zeros(study.networks[network], variant.balance)
    return total(dense), total(recosted(sparse, zeros, pair[1]))


def scenarios(energies: Table, speeds: Table) -> Table:
    """Every figure of the paper, and ours over it under each of the `SCENARIOS`."""
    rows = []
    for each in PUBLISHED:
        for what, table, paper in (("energy", energies, each.energy_saving), ("speed", speeds, each.speedup)):
            ours = {row["assumption"]: row.get(each.network) for row in table.rows}
            if paper is None or ours[AS_ASSUMED] is None:
                continue
            shown = {name: float(str(ours[name])) for name in SCENARIOS if name in ours}
            over = {f"{name}, over paper": value / paper for name, value in shown.items()}
            rows.append({"network": each.network, "of": what, "paper": paper, **shown, **over})
    on_page = (*("network", "of", "paper"), *(f"{name}, over paper" for name in SCENARIOS))
    return Table("scenarios", tuple(rows), on_page if rows else ())


def needed(study: Study) -> Table:
    """What weight update would have to take for the paper's figure, fw and bw as they are: shares of its dense cost."""
    rows = []
    for each in PUBLISHED:
        for what, paper in (("energy_pj", each.energy_saving), ("cycles", each.speedup)):
            if paper is not None and each.network in study.networks:
                rows.append(
                    {"network": each.network, "of": what.removesuffix("_pj"), **_needed(study, each, what, paper)}
                )
    return Table("needed", tuple(rows))


def _needed(study: Study, each: Published, what: str, paper: float) -> dict[str, float]:
    dense, dense_update, ours, update = (
        float(getattr(cost(study, each.network, phase), what))
        for cost in (dense_of, sparse_of)
        for phase in (ALL, "wu")
    )
    return {
        "paper": paper,
        "ours": dense / ours,
        "fw_bw_share": (ours - update) / (dense - dense_update),
        "wu_share": update / dense_update,
        "wu_share_needed": (dense / paper - (ours - update)) / dense_update,
    }
