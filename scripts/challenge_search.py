#!/usr/bin/env python3
"""Adversaries that try to beat the search with its own cost model: a safety net under every proof of optimality.

Problems are drawn from the networks and accelerators that ship, phases, partitionings and metrics. Each is solved, and
its answer attacked for its share of the time:

\b
random      chains drawn uniformly for each dimension, loop orders and kept tensors too
neighbours  local search from every mapping of the ranking, until nothing around it is better
annealing   populations of mappings from random starts, without a look at the answer

They use nothing of the search but its answer: what may loop where is read off the rules of a mapping once more. The
table gives the best value of each over that of rank 1. An answer is "beaten" where one of them is lower, else "reached"
where random or annealing come to the same value by themselves, else it "held". "missing" counts mappings better than
the last rank that the ranking lacks; mappings are the same where factors, kept tensors, cycles and energy are.

\b
Exit code: 0 no optimum that was called proven is beaten, 1 one is.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import click
from adversary.attack import attack
from adversary.ground import ground_of
from adversary.referee import ADVERSARIES, MISSES, ROUNDING, Found, Referee, value_of

import mapper
from mapper.errors import MapperError
from mapper.mapping import parse_partitioning
from mapper.search.pool import METRICS
from mapper.search.solve import Problem, Solution, solve
from mapper.workload import network_names

ACCELERATORS = (
    "accelforge_eyeriss",
    "timeloop_p1",
    "simba_like",
    "tpu_like",
    "eyeriss",
    "procrustes",
    "procrustes_eyeriss_ratios",
    "timeloop_p5",
)
"""Taken in turn, so that few problems already see several hierarchies, bandwidths, leakage and bypass."""
BATCHES = (1, 16, 64)
PARTITIONINGS = ("any", "any", "CK", "KN", "CN", "PQ")
TOP = 5
ENOUGH, AT_LEAST = 20, 100_000
"""An attack ends when it has evaluated so many times more mappings than there are, and so many."""
WORTH = 100
"""How many times longer than its search an attack should take; the last line says how many had no time for it."""
LEAST, MOST = 0.75, 3.0
"""Least and most time of an attack, in parts of the mean; more than the mean only where attacks before took less."""

COLUMNS = (
    ("", 3),
    ("problem", -88),
    ("mapspace", 9),
    ("optimal", 7),
    ("solve s", 8),
    ("attack s", 8),
    ("evaluated", 11),
    *((name, 12) for name in ADVERSARIES),
    ("missing", 7),
    ("verdict", -10),
)
"""Heads and widths; a negative width is aligned to the left."""


@dataclass(frozen=True)
class Challenge:
    """A drawn problem, how the table calls it, and how the command line does."""

    number: int
    name: str
    arguments: str
    problem: Problem


@dataclass(frozen=True)
class Answer:
    """What the search says of a challenge, and its CPU seconds."""

    challenge: Challenge
    solution: Solution
    seconds: float


@dataclass(frozen=True)
class Report:
    """What came of an attack; its seconds are CPU seconds, too."""

    answered: Answer
    attack_seconds: float
    tolerance: float
    referee: Referee = field(repr=False)

    @property
    def solution(self) -> Solution:
        return self.answered.solution

    @property
    def proven(self) -> bool:
        return self.solution.certificate.optimal

    @property
    def best(self) -> Found:
        return min(self.referee.best.values(), key=lambda found: found.value)

    def ratio(self, *adversaries: str) -> float:
        """The best value of some adversaries over that of rank 1; infinite where they found none."""
        value = min(self.referee.best[name].value for name in adversaries)
        if math.isinf(value):
            return math.inf
        return value / self.referee.ranked_values[0] if self.solution.ranked else 0.0

    @property
    def beaten(self) -> bool:
        return self.ratio(*ADVERSARIES) < 1 - self.tolerance

    @property
    def verdict(self) -> str:
        if self.beaten:
            return "BEATEN" if self.proven else "beaten"
        if self.ratio(*ADVERSARIES) < 1 - ROUNDING:
            return "by a hair"
        return "reached" if self.ratio("random", "annealing") <= 1 + ROUNDING else "held"


def challenges(seed: int) -> Iterator[Challenge]:
    """Different problems without end, drawn at random; only the accelerators come in turn."""
    rng = random.Random(seed)
    drawn: set[Problem] = set()
    while True:
        name, batch = rng.choice(network_names()), rng.choice(BATCHES)
        layer = rng.choice(list(mapper.load_network(name, batch=batch)))
        part = rng.choice([part for phase in layer.phases() for part in layer.parts(phase)])
        accelerator = mapper.load_arch(ACCELERATORS[len(drawn) % len(ACCELERATORS)])
        partitioning = parse_partitioning(rng.choice(PARTITIONINGS), part.einsum.dimensions)
        problem = Problem(part.einsum, accelerator, partitioning, metric=rng.choice(METRICS), top=TOP)
        ground = ground_of(problem)
        # A partitioning that spreads nothing, and a layer without loops, are poor challenges.
        if problem not in drawn and ground.dimensions and ground.spreadable.size:
            drawn.add(problem)
            where = f"{name}:{layer.label}"
            words = [where, f"x{batch}", str(part.phase), part.label, accelerator.name, partitioning.name]
            arguments = f"{where} --batch {batch} --phase {part.phase} --part {part.index} --arch {accelerator.name}"
            yield Challenge(len(drawn), " ".join([*words, problem.metric]), arguments, problem)


def answer(challenge: Challenge, minutes: float | None) -> Answer:
    """What the search says, after `minutes` at most. Raises `MapperError` where it does not take the challenge on."""
    start = time.process_time()
    problem = challenge.problem
    # A deadline is named only where one is asked for: without one a search ends when it has its proof.
    solution = solve(problem) if minutes is None else solve(problem, deadline=time.monotonic() + 60 * minutes)
    return Answer(challenge, solution, time.process_time() - start)


def share(answered: Answer, each: float, saved: float) -> float:
    """Seconds for an attack: what is worth the search, around `each`, with what attacks before it saved."""
    worth = WORTH * answered.seconds
    return min(max(worth, LEAST * each), MOST * each, each + saved)


def face(answered: Answer, seconds: float, seed: int, tolerance: float) -> Report:
    """Attack an answer for some CPU seconds."""
    start = time.process_time()
    enough = max(ENOUGH * answered.solution.certificate.mapspace_size, AT_LEAST)
    ground = ground_of(answered.challenge.problem)
    referee = Referee(ground, answered.solution, start + seconds, enough)
    attack(referee, seed * 1000 + answered.challenge.number, seconds)
    return Report(answered, time.process_time() - start, tolerance, referee)


def line(texts: tuple[str, ...]) -> str:
    sides = [f"<{-width}" if width < 0 else f">{width}" for _, width in COLUMNS]
    return "  ".join(f"{text:{side}}" for text, side in zip(texts, sides, strict=True)).rstrip()


def cells(report: Report) -> tuple[str, ...]:
    referee = report.referee
    return (
        f"{report.answered.challenge.number}",
        report.answered.challenge.name,
        f"{report.solution.certificate.mapspace_size:.3g}",
        "yes" if report.proven else "no",
        f"{report.answered.seconds:.2f}",
        f"{report.attack_seconds:.1f}",
        f"{referee.evaluated.total():,}",
        *(shown(report.ratio(name)) for name in ADVERSARIES),
        f"{MISSES}+" if referee.missing >= MISSES else f"{referee.missing}",
        report.verdict,
    )


def shown(ratio: float) -> str:
    """A ratio, exactly 1 only where it is 1 but for rounding."""
    if abs(ratio - 1) <= ROUNDING:
        return "1"
    return "-" if math.isinf(ratio) else f"{ratio:.6f}" if abs(ratio - 1) > 1e-5 else f"1 {ratio - 1:+.2g}"


def findings(report: Report) -> Iterator[str]:
    """What beats an answer or is missing in it, as mappings that can be evaluated."""
    referee, challenge = report.referee, report.answered.challenge
    found = {"beaten": report.best} if report.ratio(*ADVERSARIES) < 1 - ROUNDING else {}
    if referee.missing and not (found and referee.missed.value == report.best.value):
        found["missing"] = referee.missed
    if found:
        yield f"\n{challenge.number}. {challenge.name}: {report.verdict}"
    if found and report.solution.ranked:
        values, ranked = referee.ranked_values, report.solution.ranked
        yield f"  rank 1   {values[0]:.12g}  {ranked[0].mapping}"
        yield f"  rank {len(ranked)}   {values[-1]:.12g}"
    for what, mapping in found.items():
        text = mapping.text(referee.ground)
        yield f"  {what:<8} {mapping.value:.12g}  {text}{doubts(challenge.problem, mapping, text)}"
        yield f'  mapper evaluate {challenge.arguments} --mapping "{text}"'


def doubts(problem: Problem, mapping: Found, text: str) -> str:
    """What evaluating a mapping singly, from its text, says against it; nothing as a rule."""
    again = mapper.evaluate(problem.einsum, problem.accelerator, text)
    value = value_of(again, problem.metric)
    if again.fits and math.isclose(value, mapping.value, rel_tol=ROUNDING):
        return ""
    return f"  BUT singly {value:.12g}, {'it fits' if again.fits else 'it does not fit'}"


@click.command(help=__doc__)
@click.option(
    "--minutes", type=click.FloatRange(min=0.01), default=40, show_default=True, help="CPU time of all attacks."
)
@click.option(
    "--search-minutes", type=click.FloatRange(min=0, min_open=True), help="Of each search.  [default: no limit]"
)
@click.option("--layers", type=click.IntRange(min=1), default=30, show_default=True, help="Problems drawn.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the problems and of the adversaries.")
@click.option("--only", type=int, multiple=True, metavar="N", help="Only problem N of those drawn; may be repeated.")
@click.option(
    "--tolerance", type=float, default=1e-9, show_default=True, help="How much lower, relatively, beats an answer."
)
def main(
    minutes: float, search_minutes: float | None, layers: int, seed: int, only: tuple[int, ...], tolerance: float
) -> None:
    problems = challenges(seed)
    chosen = [each for _, each in zip(range(layers), problems, strict=False) if not only or each.number in only]
    click.echo(line(tuple(head for head, _ in COLUMNS)))
    mean, saved = 60 * minutes / max(len(chosen), 1), 0.0
    reports: list[Report] = []
    for challenge in chosen:
        try:
            answered = answer(challenge, search_minutes)
        except MapperError as error:
            click.echo(f"{challenge.number:>3}  {challenge.name}: not searched: {error}")
            continue
        reports.append(face(answered, share(answered, mean, saved), seed, tolerance))
        saved += mean - reports[-1].attack_seconds
        click.echo(line(cells(reports[-1])))
    for report in reports:
        for text in findings(report):
            click.echo(text)
    click.echo(f"\n{summary(reports)}")
    sys.exit(any(report.beaten and report.proven for report in reports))


def summary(reports: list[Report]) -> str:
    """How many answers stood."""
    counts = {
        "called optimal": sum(r.proven for r in reports),
        "of these beaten": sum(r.proven and r.beaten for r in reports),
        "others beaten": sum(r.beaten and not r.proven for r in reports),
        "with mappings missing": sum(r.referee.missing > 0 for r in reports),
        "attacked for less than 100 x the time of the search": sum(
            r.attack_seconds < WORTH * r.answered.seconds and r.verdict != "reached" for r in reports
        ),
    }
    return f"{len(reports)} answers: " + ", ".join(f"{n} {what}" for what, n in counts.items())


if __name__ == "__main__":
    main()
