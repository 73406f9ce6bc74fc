"""Rows of the ranked tables: one column per figure, units in the names, the same columns for every row of a design."""

from __future__ import annotations

from mapper.cost.single import Evaluation
from mapper.search.result import Ranked, Ranking

Row = dict[str, object]


def mapping_row(ranking: Ranking, ranked: Ranked) -> Row:
    """One row of `mappings.csv`, without the network's columns."""
    found = ranked.evaluation
    certificate = ranked.certificate
    return {
        "arch": ranking.design,
        "layer": ranking.layer,
        "phase": ranking.phase,
        "part": ranking.part,
        "partitioning": ranking.partitioning,
        "rank": ranked.rank,
        "mapping": str(found.mapping),
        "macs": found.macs,
        "points": found.points,
        "cycles": found.cycles,
        "fill_drain_cycles": found.fill_drain_cycles,
        "utilization": found.utilization,
        "energy_pj": found.energy_pj,
        "edp_pj_cycles": found.edp_pj_cycles,
        "bound_by": found.bound_by,
        "optimal": certificate.optimal,
        "mapspace_size": certificate.mapspace_size,
        "evaluated": certificate.evaluated,
        **_energy(found),
        **_ratios(found),
    }


def _energy(found: Evaluation) -> Row:
    components: Row = {f"energy_{name}_pj": value for name, value in found.energy_by("component").items()}
    roles = {t.name: t.role for t in found.einsum.tensors}
    by_role = dict.fromkeys(("W", "I", "O"), 0.0)
    for name, value in found.energy_by("tensor").items():
        if name:
            by_role[roles[name]] += value
    return components | {f"energy_role_{role}_pj": value for role, value in by_role.items()}


def _ratios(found: Evaluation) -> Row:
    """Reuse and multicast per level and role; empty where the mapping does not keep the tensor there."""
    names = [(level, role) for level in found.accelerator.level_names for role in ("W", "I", "O")]
    roles = {t.name: t.role for t in found.einsum.tensors}
    reuse = {(level, roles[tensor]): value for (level, tensor), value in found.reuse.items()}
    edges = {(edge.level, roles[edge.tensor]): edge for edge in found.edges}
    row: Row = {f"reuse_{level}_{role}": reuse.get((level, role)) for level, role in names}
    row |= {
        f"multicast_{level}_{role}": edges[level, role].multicast if (level, role) in edges else None
        for level, role in names
    }
    return row | {
        f"multicast_max_{level}_{role}": edges[level, role].multicast_max if (level, role) in edges else None
        for level, role in names
    }
