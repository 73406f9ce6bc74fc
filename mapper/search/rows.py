"""Rows of the ranked tables: one column per figure, units in the names, the same columns for every row of a design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mapper.arch.accelerator import Accelerator
from mapper.arch.network import SUFFIX
from mapper.cost.energy import OVERHEAD
from mapper.cost.network import networks
from mapper.cost.single import Evaluation
from mapper.search.result import Ranked, Ranking
from mapper.workload.einsum import ROLES

Row = dict[str, object]

METRIC_COLUMNS = {"edp": "edp_pj_cycles", "energy": "energy_pj", "cycles": "cycles", "pareto": "edp_pj_cycles"}
"""The column, and the attribute of `Evaluation`, that each metric minimises; a front starts at its least EDP."""

_OF_ROLES = frozenset(f"energy_role_{role}_pj" for role in ROLES)

BALANCED = 1.0
"""Imbalance where zeros save no cycles: every PE has the same work."""


def mapping_row(ranking: Ranking, ranked: Ranked) -> Row:
    """One row of `mappings.csv`, without the network's columns."""
    return {
        "arch": ranking.arch,
        "layer": ranking.layer,
        "phase": ranking.phase,
        "part": ranking.part,
        "partitioning": ranking.partitioning,
        **measures(ranked),
    }


def measures(ranked: Ranked) -> Row:
    """The columns that say nothing of whose mapping it is: rank, figures and certificate."""
    found = ranked.evaluation
    certificate = ranked.certificate
    return {
        "rank": ranked.rank,
        "mapping": str(found.mapping),
        "macs": found.macs,
        "effectual_macs": found.effectual_macs,
        "points": found.points,
        "cycles": found.cycles,
        "fill_drain_cycles": found.fill_drain_cycles,
        "utilization": found.utilization,
        "imbalance_mean": found.imbalance.mean if found.imbalance else BALANCED,
        "imbalance_max": found.imbalance.maximum if found.imbalance else BALANCED,
        "energy_pj": found.energy_pj,
        "edp_pj_cycles": found.edp_pj_cycles,
        "bound_by": found.bound_by,
        "optimal": certificate.optimal,
        "gap": certificate.gap,
        "mapspace_size": certificate.mapspace_size,
        "evaluated": certificate.evaluated,
        **_ratios(found),
        **_interconnect(found),
        **energy_columns(found),
    }


def _interconnect(found: Evaluation) -> Row:
    """How words travel below the fan-outs; what the networks cost is empty where the spec gives none."""
    ways = [passage for passage in found.passages if passage.ways]
    modelled = bool(networks(found.accelerator))
    levels = {passage.level for passage in found.passages}
    kinds = (f"{p.tensor}{f' below {p.level}' if len(levels) > 1 else ''}: {p.pattern.kind}" for p in found.passages)
    cycles = [found.bounds[name] for name in found.bounds if name.endswith(SUFFIX)]
    return {
        "interconnect_pattern": "; ".join(kinds),
        "interconnect_one_dimensional_flows": all(p.pattern.one_dimensional for p in found.passages),
        "interconnect_bit_hops": sum(p.bit_hops for p in ways) if modelled else None,
        "interconnect_energy_pj": sum(p.energy_pj for p in ways) if modelled else None,
        "interconnect_cycles": max(cycles) if cycles else None,
        "interconnect_longest_path_hops": max((p.longest_path or 0 for p in ways), default=0) if modelled else None,
    }


def components(accelerator: Accelerator) -> tuple[str, ...]:
    """Names of everything that takes energy: buffers and networks outermost first, compute, units for zeros."""
    named = {index: level.name + SUFFIX for index, level, _ in networks(accelerator)}
    buffers = (
        name
        for index, level in enumerate(accelerator.levels)
        for name in (*(buffer.name for buffer in level.buffers), *([named[index]] if index in named else []))
    )
    zeros = accelerator.zeros
    units = () if zeros is None else tuple(event.name for event in zeros.events)
    overhead = (OVERHEAD,) if zeros is not None and zeros.overhead_energy else ()
    return (*buffers, accelerator.compute.name, *overhead, *units)


def is_energy_column(name: str) -> bool:
    """Whether a column is one of `energy_columns`."""
    return name.startswith("energy_") and name.endswith("_pj") and name != "energy_pj"


def energy_components(columns: Iterable[str]) -> dict[str, str]:
    """Those of `columns` with the energy of a component, by its name, in their order."""
    found = (name for name in columns if is_energy_column(name) and name not in _OF_ROLES)
    return {name.removeprefix("energy_").removesuffix("_pj"): name for name in found}


def energy_columns(found: Evaluation) -> dict[str, float]:
    """Picojoules by component and by role of the tensor; 0 where a mapping leaves a component out."""
    by_component = dict.fromkeys(components(found.accelerator), 0.0) | found.energy_by("component")
    roles = {t.name: t.role for t in found.einsum.tensors}
    by_role = dict.fromkeys(ROLES, 0.0)
    for name, value in found.energy_by("tensor").items():
        if name:
            by_role[roles[name]] += value
    columns = {f"energy_{name}_pj": value for name, value in by_component.items()}
    return columns | {f"energy_role_{role}_pj": value for role, value in by_role.items()}


def _ratios(found: Evaluation) -> Row:
    """Reuse and multicast per level and role.

    Empty where the mapping does not keep the tensor there, and where several tensors have the role: a ratio of them
    all says nothing.
    """
    names = [(level, role) for level in found.accelerator.level_names for role in ROLES]
    tensors = Counter(t.role for t in found.einsum.tensors)
    alone = {t.name: t.role for t in found.einsum.tensors if tensors[t.role] == 1}
    reuse = {(level, alone[tensor]): value for (level, tensor), value in found.reuse.items() if tensor in alone}
    edges = {(edge.level, alone[edge.tensor]): edge for edge in found.edges if edge.tensor in alone}
    row: Row = {f"reuse_{level}_{role}": reuse.get((level, role)) for level, role in names}
    row |= {
        f"multicast_{level}_{role}": edges[level, role].multicast if (level, role) in edges else None
        for level, role in names
    }
    return row | {
        f"multicast_max_{level}_{role}": edges[level, role].multicast_max if (level, role) in edges else None
        for level, role in names
    }
