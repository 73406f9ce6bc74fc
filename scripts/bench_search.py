#!/usr/bin/env python3
"""How fast and how good the search is, on the problems that other mappers were measured on and on whole networks.

Every group of problems runs in a fresh process, so that the peak of its memory is its own. Seconds are CPU seconds of
that process. What other tools reached is a table in this file: their figures were measured once, on a 2-core machine
under other load, and they are not run here.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mapper.arch import Accelerator
    from mapper.runs.network import Plan, Task
    from mapper.search.solve import Problem, Solution
    from mapper.workload import Conv2d, Einsum

BATCH = 64
ARCH = "procrustes"
NETWORKS = ("resnet18", "mobilenet_v2", "bert_base")
PARTITIONINGS = ("CK", "KN", "CN", "PQ")

UNITS = {"edp": "pJ x cycles", "energy": "pJ", "cycles": "cycles"}


@dataclass(frozen=True)
class Peer:
    """What another tool did on a case: CPU seconds, mappings evaluated in one of them, best metric; None: not known."""

    case: str
    tool: str
    seconds: float | None
    per_second: float | None
    cost: float | None
    remark: str


PEERS = (
    Peer("P1", "Timeloop v4, random-pruned", 45, 21, 8.327e14, "907.6 uJ, 917,504 cycles; not proven"),
    Peer("P1", "Timeloop v4, random", 55, 23, 9.166e14, "not proven"),
    Peer("P1", "Timeloop v4, hybrid", 44, 9, 2.162e15, "its default; not proven"),
    Peer("P1", "Timeloop v4, exhaustive", 55, 1_200, None, "no valid mapping among 67,000; linear-pruned the same"),
    Peer("P1 bypass", "Timeloop v4, random-pruned", None, 661, 7.741e14, "642.8 uJ, 1,204,224 cycles; not proven"),
    Peer("P2 8x8", "AccelForge 1.0.467", 7.5, None, 4.692e9, "as shipped, printed as optimal"),
    Peer("P2 8x8", "AccelForge 1.0.467", 7.5, None, 4.133e9, "scratchpads listed in another order; in a third 5.313e9"),
    Peer("P2 8x8", "annealing, same space", 40, None, 4.133229e9, "not proven"),
    Peer("P4 CK", "Procrustes simulator", None, 0.8, None, "valid mappings, density 0.1"),
    Peer("P4 KN", "Procrustes simulator", None, 6.7, None, "valid mappings, density 0.1"),
    Peer("P5 4x4x4", "Timeloop v4, exhaustive", 3, 2_250, 10_544 * 24, "10,544 pJ, 24 cycles; proven"),
    Peer("P5 4x4x4 energy", "Timeloop v4, exhaustive", 3, 2_250, 10_544, "proven"),
    Peer("P5 4x4x4 cycles", "Timeloop v4, exhaustive", 3, 2_250, 24, "proven"),
    Peer("P5 8x8x8", "Timeloop v4, exhaustive", 17, 6_300, 72_960 * 160, "72,960 pJ, 160 cycles; proven"),
    Peer("resnet18", "ZigZag 3.9.1", 29, 75, None, "25 to 33 s a layer, 2,160 mappings, its Eyeriss; heuristic"),
)
"""Source: runs of these tools on a 2-core machine under other load, CPU seconds of one process. Proven is what Timeloop
enumerated to the end: perfect factors only, and words forwarded between neighbouring PEs free of charge."""

NOTES = (
    "ours / its: cost and CPU seconds, below 1 is better; seconds per problem (median) for a network.",
    "P1 and P5: idle lanes are allowed here; Timeloop takes perfect factors, and forwards between PEs free of charge.",
    "P1 bypass: GLB and RF keep each tensor or let it pass.",
    "P2 8x8: M on 8 columns and K on 8 rows of the 14 x 12 PEs; P2 free: any lanes, idle ones too.",
    "P3 (ZigZag on its own Eyeriss-like file) is left out: no such accelerator ships.",
    "P4: dense here.",
    "Costs of a network: each part with the partitioning of the least edp, times its repeat.",
)


@dataclass(frozen=True)
class Row:
    """One search, or a network of them: sums, except for `median` and `worst`. `cost` is None where nothing fits."""

    case: str
    metric: str
    partitioning: str
    problems: int
    mapspace: int
    evaluated: int
    proven: int
    seconds: float
    cost: float | None
    energy_pj: float = 0.0
    cycles: int = 0
    median: float = 0.0
    worst: float = 0.0
    slowest: str = ""
    mapping: str = ""
    peak_mb: float = 0.0


LIMIT = 60.0
"""Seconds after which a search returns what it has; only a space with every bypass open takes so long."""

# The problems


def p1() -> Iterator[Row]:
    from mapper.arch import load_arch

    accelerator = load_arch("timeloop_p1")
    einsum = conv(N=1, C=64, K=64, P=56, Q=56).einsums("fw")[0]
    free = [replace(level, keep=frozenset(), may_keep=level.keep) for level in accelerator.levels[1:]]
    bypass = replace(accelerator, levels=(accelerator.levels[0], *free))
    yield single("P1", einsum, accelerator)
    yield single("P1 bypass", einsum, bypass)


def p2() -> Iterator[Row]:
    from mapper.arch import load_arch
    from mapper.workload import Einsum

    accelerator = load_arch("accelforge_eyeriss")
    einsum = Einsum.parse("O[M,N] += W[K,N] * I[M,K]", M=1024, N=1024, K=1024)
    yield single("P2 8x8", einsum, accelerator, metric="energy", constraints=["GLB X: M=8 | Y: K=8"])
    yield single("P2 free", einsum, accelerator, metric="energy")


def p4() -> Iterator[Row]:
    from mapper.arch import load_arch

    einsum = conv(N=16, C=128, K=128, P=28, Q=28, padding=1).einsums("fw")[0]
    for name in PARTITIONINGS:
        yield single(f"P4 {name}", einsum, load_arch(ARCH), name)


def p5() -> Iterator[Row]:
    from mapper.arch import load_arch
    from mapper.workload import Einsum

    accelerator = load_arch("timeloop_p5")
    small, large = (Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=n, N=n, K=n) for n in (4, 8))
    yield single("P5 4x4x4", small, accelerator)
    yield single("P5 4x4x4 energy", small, accelerator, metric="energy")
    yield single("P5 4x4x4 cycles", small, accelerator, metric="cycles")
    yield single("P5 8x8x8", large, accelerator)


def conv(N: int, C: int, K: int, P: int, Q: int, padding: int = 0) -> Conv2d:
    from mapper.workload import Conv2d

    return Conv2d(N=N, C=C, K=K, R=3, S=3, P=P, Q=Q, padding=padding)


def network(name: str) -> Iterator[Row]:
    """Every distinct problem of a network in its three phases under four partitionings."""
    from mapper.arch import load_arch
    from mapper.mapping import parse_partitionings
    from mapper.runs.network import Plan
    from mapper.workload import load_network

    loaded = load_network(name, batch=BATCH)
    known = {dimension for layer in loaded for part in layer.parts("fw") for dimension in part.einsum.dimensions}
    names = "all" if known >= set("NKCPQ") else "any"
    plan = Plan(loaded, load_arch(ARCH), parse_partitionings(names, known))
    solved: dict[Problem, tuple[Solution | None, float]] = {}
    for phase in plan.phases:
        asked = (task.problem for task in plan.tasks if task.phase is phase)
        solved |= {problem: timed(problem) for problem in dict.fromkeys(asked) if problem not in solved}
        yield _phase_row(name, str(phase), plan, solved)
    yield _phase_row(name, "", plan, solved)


def _phase_row(name: str, phase: str, plan: Plan, solved: dict[Problem, tuple[Solution | None, float]]) -> Row:
    """The searches of one phase, or of all where none is given; costs are those of each part's best partitioning."""
    tasks = [task for task in plan.tasks if phase in ("", str(task.phase))]
    problems = dict.fromkeys(task.problem for task in tasks)
    solutions = [solution for solution, _ in map(solved.__getitem__, problems) if solution]
    seconds = [solved[problem][1] for problem in problems]
    slowest = max(tasks, key=lambda task: solved[task.problem][1])
    energy, cycles = _best_totals(tasks, solved)
    return Row(
        case=f"{name} {phase}".strip(),
        metric="edp",
        partitioning="best of each",
        problems=len(problems),
        mapspace=sum(solution.certificate.mapspace_size for solution in solutions),
        evaluated=sum(solution.certificate.evaluated for solution in solutions),
        proven=sum(solution.certificate.optimal for solution in solutions),
        seconds=sum(seconds),
        cost=energy * cycles if cycles else None,
        energy_pj=energy,
        cycles=cycles,
        median=statistics.median(seconds),
        worst=max(seconds),
        slowest=str(slowest),
    )


def _best_totals(tasks: Sequence[Task], solved: dict[Problem, tuple[Solution | None, float]]) -> tuple[float, int]:
    """Energy and cycles of all layers, each part with its best partitioning and times its repeat."""
    best: dict[tuple[str, str, str], tuple[float, float, int]] = {}
    for task in tasks:
        solution = solved[task.problem][0]
        if solution and solution.ranked:
            found = solution.ranked[0].evaluation
            entry = (found.edp_pj_cycles, found.energy_pj * task.layer.repeat, found.cycles * task.layer.repeat)
            key = (task.layer.label, str(task.phase), task.part.label)
            best[key] = min(entry, best.get(key, entry))
    return sum(energy for _, energy, _ in best.values()), sum(cycles for _, _, cycles in best.values())


def single(
    case: str,
    einsum: Einsum,
    accelerator: Accelerator,
    partitioning: str = "any",
    metric: str = "edp",
    constraints: Sequence[str] = (),
) -> Row:
    """One search."""
    from mapper.mapping import parse_partitioning
    from mapper.search.constraint_text import parse_constraints
    from mapper.search.solve import Problem

    spread = parse_partitioning(partitioning, einsum.dimensions)
    problem = Problem(einsum, accelerator, spread, metric, constraints=parse_constraints(*constraints))
    solution, seconds = timed(problem)
    if solution is None:
        return Row(case, metric, partitioning, 1, 0, 0, 0, seconds, None)
    found = solution.certificate
    row = Row(case, metric, partitioning, 1, found.mapspace_size, found.evaluated, int(found.optimal), seconds, None)
    if not solution.ranked:
        return row
    best = solution.ranked[0].evaluation
    costs = {"edp": best.edp_pj_cycles, "energy": best.energy_pj, "cycles": float(best.cycles)}
    return replace(
        row, cost=costs[metric], energy_pj=best.energy_pj, cycles=best.cycles, mapping=str(solution.ranked[0].mapping)
    )


def timed(problem: Problem) -> tuple[Solution | None, float]:
    """A solution and its CPU seconds; none where the search refuses the problem."""
    from mapper.errors import MapperError
    from mapper.search.solve import solve

    start = time.process_time()
    try:
        solution = solve(problem, time.monotonic() + LIMIT)
    except MapperError as error:
        click.echo(f"not searched: {error}", err=True)
        return None, time.process_time() - start
    return solution, time.process_time() - start


GROUPS: dict[str, Callable[[], Iterator[Row]]] = {
    "P1": p1,
    "P2": p2,
    "P4": p4,
    "P5": p5,
    **{name: lambda name=name: network(name) for name in NETWORKS},  # type: ignore[misc]
}


def in_child(group: str, minutes: float | None) -> list[Row]:
    """The rows of a group from a fresh process, as many as it has in time."""
    click.echo(f"{group} ...", err=True)
    command = [sys.executable, __file__, "--child", group]
    try:
        lines = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, timeout=60 * minutes if minutes else None
        ).stdout
    except subprocess.TimeoutExpired as error:
        click.echo(f"{group}: ended after {minutes:g} minutes, not all is searched", err=True)
        lines = error.stdout or b""
    return [Row(**json.loads(line)) for line in lines.decode().splitlines()]


def as_child(group: str) -> None:
    """Search a group and print each row as it comes, with the peak of the process so far."""
    warm_up()
    for row in GROUPS[group]():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(asdict(replace(row, peak_mb=peak))), flush=True)


def warm_up() -> None:
    """Search something tiny, so that what is imported on first use is not measured."""
    from mapper.arch import load_arch
    from mapper.workload import Einsum

    einsum = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=2, N=2, K=2)
    single("", einsum, load_arch("timeloop_p5"))


# The tables


def search_table(rows: Sequence[Row]) -> list[list[str]]:
    head = ["case", "partitioning", "mapspace", "evaluated", "optimal", "CPU s", "peak MB", "best", "unit"]
    body = [
        [
            row.case,
            row.partitioning,
            quantity(row.mapspace),
            f"{row.evaluated:,}",
            "yes" if row.proven else "no",
            f"{row.seconds:.2f}",
            f"{row.peak_mb:.0f}",
            cost(row.cost),
            UNITS[row.metric],
        ]
        for row in rows
    ]
    return [head, *body]


def network_table(rows: Sequence[Row]) -> list[list[str]]:
    head = ["network", "problems", "optimal", "mapspaces", "evaluated", "median s", "worst s", "total s", "peak MB"]
    body = [
        [
            row.case,
            f"{row.problems}",
            f"{row.proven}",
            quantity(row.mapspace),
            f"{row.evaluated:,}",
            f"{row.median:.3f}",
            f"{row.worst:.3f}",
            f"{row.seconds:.1f}",
            f"{row.peak_mb:.0f}",
            f"{row.energy_pj / 1e12:.6g}",
            f"{row.cycles:,}",
        ]
        for row in rows
    ]
    return [[*head, "J", "cycles"], *body]


def peer_table(rows: Sequence[Row]) -> list[list[str]]:
    """Ours over theirs: below 1 is better, in cost as in seconds."""
    head = ["case", "tool", "its best", "ours / its", "its CPU s", "ours / its", "its mappings/s", "remark"]
    of = {row.case: row for row in rows}
    return [head, *(_peer_line(peer, of[peer.case]) for peer in PEERS if peer.case in of)]


def _peer_line(peer: Peer, ours: Row) -> list[str]:
    seconds = ours.median or ours.seconds
    return [
        peer.case,
        peer.tool,
        cost(peer.cost),
        f"{ours.cost / peer.cost:.6f}" if ours.cost and peer.cost else "-",
        f"{peer.seconds:g}" if peer.seconds else "-",
        f"{seconds / peer.seconds:.5f}" if peer.seconds else "-",
        f"{peer.per_second:,g}" if peer.per_second else "-",
        peer.remark,
    ]


def cost(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value < 1e9 else f"{value:.7g}"


def quantity(count: int) -> str:
    return f"{count:,}" if count < 10**7 else f"{count:.3g}"


def as_text(table: Sequence[Sequence[str]]) -> str:
    """Columns of their own width, words to the left and numbers to the right."""
    columns = list(zip(*table, strict=True))
    sides = ["<" if any(cell[:1].isalpha() for cell in column[1:]) else ">" for column in columns]
    widths = [max(map(len, column)) for column in columns]
    forms = [f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True)]
    return "\n".join("  ".join(map(str.format, forms, row)).rstrip() for row in table)


def as_markdown(table: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([head, "|" + "---|" * len(table[0]), *body])


def peers_here() -> str:
    """Which of the other tools this machine has; none of them is run."""
    found = {
        "timeloop": shutil.which("timeloop-mapper") or shutil.which("timeloop"),
        **{name: importlib.util.find_spec(name) for name in ("accelforge", "zigzag")},
    }
    return "here: " + ", ".join(f"{name} {'found' if at else 'not found'}" for name, at in found.items())


@click.command(help=__doc__)
@click.option("--only", metavar="NAMES", help=f"Of {','.join(GROUPS)}, separated by commas.  [default: all]")
@click.option("--format", "layout", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="For each group.  [default: no limit]")
@click.option("--child", type=click.Choice(list(GROUPS)), hidden=True)
def main(only: str | None, layout: str, minutes: float | None, child: str | None) -> None:
    if child:
        as_child(child)
        return
    groups = [name.strip() for name in only.split(",")] if only else list(GROUPS)
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise click.BadParameter(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}", param_hint="--only")
    rows = {group: in_child(group, minutes) for group in groups}
    singles = [row for group, found in rows.items() if group not in NETWORKS for row in found]
    networks = [row for group, found in rows.items() if group in NETWORKS for row in found]
    shown = as_markdown if layout == "markdown" else as_text
    if singles:
        click.echo(f"One search each, one process\n\n{shown(search_table(singles))}\n")
        click.echo("\n".join(f"- {row.case}: `{row.mapping}`" for row in singles if row.mapping) + "\n")
    if networks:
        click.echo(f"Networks at batch {BATCH} on {ARCH}, partitionings {', '.join(PARTITIONINGS)}, metric edp\n")
        click.echo(f"{shown(network_table(networks))}\n")
        click.echo("\n".join(f"- slowest of {row.case}: {row.slowest}" for row in networks) + "\n")
    click.echo(f"Other tools; {peers_here()}\n\n{shown(peer_table([*singles, *networks]))}\n")
    click.echo("\n".join(f"- {note}" for note in NOTES))


if __name__ == "__main__":
    main()
