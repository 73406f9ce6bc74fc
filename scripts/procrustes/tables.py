"""Tables of the reproduction, the paper's figures beside ours."""

from __future__ import annotations

from mapper.report.formats import Table
from mapper.search.rows import Row
from procrustes.costs import ALL, COMPONENTS, DENSE, MAIN, PHASES, SPARSE, Cost, Study, total
from procrustes.overheads import Overheads, overheads
from procrustes.paper import ORDER, OVERHEADS, PUBLISHED

SUM = "sum"
"""The networks together."""
BALANCES = ("half_tile", "global", "ideal")
"""Balancing in the table of partitionings; the first is what the hardware does."""
SETS = {"CK": ("fw", "bw"), "KN": PHASES}
"""Phases whose working sets are looked at: those where C,K spreads the sparse tensor in two dimensions; all of K,N."""


def dense_of(study: Study, network: str, phase: str = ALL) -> Cost:
    """The dense baseline."""
    return total(study.best(network, DENSE, MAIN), phase)


def sparse_of(study: Study, network: str, phase: str = ALL) -> Cost:
    """Procrustes."""
    return total(study.best(network, SPARSE, MAIN), phase)


def savings(study: Study) -> Table:
    """Procrustes over the dense baseline, both K,N, per phase and together."""
    published = {each.network: each for each in PUBLISHED}
    rows = []
    for network in study.networks:
        for phase in (*PHASES, ALL):
            dense, sparse = dense_of(study, network, phase), sparse_of(study, network, phase)
            known = published.get(network) if phase == ALL else None
            energy = compared("energy", dense.energy_pj / sparse.energy_pj, known.energy_saving if known else None)
            time = compared("speedup", dense.cycles / sparse.cycles, known.speedup if known else None)
            pj = {"dense_energy_pj": dense.energy_pj, "energy_pj": sparse.energy_pj}
            cycles = {"dense_cycles": dense.cycles, "cycles": sparse.cycles}
            rows.append({"network": network, "phase": phase, **energy, **time, **pj, **cycles})
    return Table("savings", tuple(rows), (*tuple(rows[0])[:-4], "dense_cycles", "cycles"))


def compared(name: str, ours: float, paper: float | None) -> Row:
    """A figure, the paper's and their ratio."""
    return {name: ours, f"{name}_paper": paper, f"{name}_ratio": ours / paper if paper else None}


def baselines(study: Study) -> Table | None:
    """Savings over the best dense partitioning of each part; None where only one was searched."""
    names = study.searched(DENSE)
    if len(names) < 2:
        return None
    rows = []
    for network in study.networks:
        each = zip(*(study.best(network, DENSE, name) for name in names), strict=True)
        dense = total(min(parts, key=lambda found: found.evaluation.edp_pj_cycles) for parts in each)
        ours, main = sparse_of(study, network), dense_of(study, network)
        saved: Row = {"energy_saving": dense.energy_pj / ours.energy_pj, "speedup": dense.cycles / ours.cycles}
        over: Row = {
            "baseline_energy_over_KN": dense.energy_pj / main.energy_pj,
            "baseline_cycles_over_KN": dense.cycles / main.cycles,
        }
        rows.append({"network": network, **saved, **over})
    return Table("savings_over_best_baseline", tuple(rows))


def components(study: Study) -> Table:
    """Energy by component, as shares of the dense baseline's energy of the network."""
    rows = []
    for network in study.networks:
        whole = dense_of(study, network).energy_pj
        for phase in (*PHASES, ALL):
            for kind, cost in ((DENSE, dense_of(study, network, phase)), (SPARSE, sparse_of(study, network, phase))):
                shares = {name: energy / whole for name, energy in zip(COMPONENTS, cost.energies, strict=True)}
                rows.append(
                    {"network": network, "phase": phase, "design": kind, **shares, "sum": cost.energy_pj / whole}
                )
    return Table("components", tuple(rows))


def partitionings(study: Study) -> Table:
    """Cycles of each partitioning; under other balancing than the hardware's, those of the same mappings."""
    names = [name for name in ORDER if name in study.searched(SPARSE)]
    cycles = {
        (network, balance): {name: _cycles(study, network, name, balance) for name in names}
        for network in study.networks
        for balance in BALANCES
    }
    for balance in BALANCES:
        each = [cycles[network, balance] for network in study.networks]
        cycles[SUM, balance] = {name: sum(own[name] for own in each) for name in names}
    rows = []
    for network in (*study.networks, SUM):
        for balance in BALANCES:
            own, base = cycles[network, balance], cycles[network, BALANCES[0]][MAIN]
            over = {f"{name}_over_KN": own[name] / base for name in names}
            order = " < ".join(sorted(names, key=own.__getitem__))
            rows.append({"network": network, "balance": balance, **own, **over, "order": order})
    on_page = ("network", "balance", MAIN, *(f"{name}_over_KN" for name in names), "order")
    return Table("partitionings", tuple(rows), on_page)


def _cycles(study: Study, network: str, partitioning: str, balance: str) -> int:
    if balance == BALANCES[0]:
        return total(study.best(network, SPARSE, partitioning)).cycles
    return total(study.rebalanced(network, partitioning, balance)).cycles


def phase_cycles(study: Study) -> Table:
    """Cycles of each partitioning per phase, over the dense cycles with no lane idle: where an order comes from."""
    rows = []
    for network in study.networks:
        for phase in PHASES:
            macs = sum(
                each.evaluation.macs * each.task.layer.repeat
                for each in study.best(network, DENSE, MAIN)
                if each.phase == phase
            )
            full = macs / study.accelerators[1].pes
            own = {
                name: total(study.best(network, SPARSE, name), phase).cycles / full for name in study.searched(SPARSE)
            }
            dense = {"dense_KN": dense_of(study, network, phase).cycles / full}
            rows.append({"network": network, "phase": phase, **dense, **own})
    return Table("phase_cycles", tuple(rows))


def set_overheads(study: Study, network: str | None = None) -> dict[str, Overheads]:
    """Overheads of working sets by partitioning; of one network or all of them."""
    out = {}
    for name, phases in SETS.items():
        if name in study.searched(SPARSE):
            asked = [network] if network else list(study.networks)
            best = [each for one in asked for each in study.best(one, SPARSE, name)]
            found = overheads(best, phases)
            if found is not None:
                out[name] = found
    return out


def overhead_table(study: Study) -> Table:
    """Distributions of the overhead of working sets: C,K unbalanced, K,N balanced."""
    rows = []
    for network in (*study.networks, SUM):
        for name, found in set_overheads(study, None if network == SUM else network).items():
            shares: Row = {f"above_{percent}_percent": found.above(percent / 100) for percent in (10, 30, 50, 100)}
            middle: Row = {"mean": found.mean, "median": found.at(0.5), "p95": found.at(0.95), "most": found.at(1)}
            paper = OVERHEADS[name] if network == SUM else None
            rows.append({"network": network, "partitioning": name, **middle, **shares, "paper": paper})
    return Table("overheads", tuple(rows), tuple(rows[0])[:-1] if rows else ())
