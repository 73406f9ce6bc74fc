"""Every search that a network asks for: its layers, phases and partitionings, identical problems solved once.

>>> from mapper import load_arch, load_network
>>> from mapper.mapping import parse_partitionings
>>> plan = Plan(load_network("resnet18"), load_arch("procrustes"), parse_partitionings("all", "NGKCPQRS"))
>>> len(plan.tasks), len(plan.problems)
(332, 224)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from mapper.arch import Accelerator
from mapper.errors import InputError, MapperError
from mapper.mapping import Partitioning
from mapper.runs.executor import Outcome, WorkersLostError, attempt_all
from mapper.runs.store import Store
from mapper.search.constraint_checks import check
from mapper.search.constraints import UNCONSTRAINED, Constraints
from mapper.search.pool import METRICS
from mapper.search.result import Ranking
from mapper.search.run import ranking
from mapper.search.solve import TOP, Problem, Solution
from mapper.sparsity.given import ALL_DENSE, ZerosGiven
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Layer, Network, Part, Phase


@dataclass(frozen=True)
class Task:
    """One ranking of the tables: a problem, and the layer and part it belongs to."""

    layer: Layer
    part: Part
    problem: Problem

    @property
    def phase(self) -> Phase:
        return self.part.phase

    @property
    def partitioning(self) -> str:
        return self.problem.partitioning.name

    def __str__(self) -> str:
        return f"{self.layer.label} {self.phase} {self.part.label} {self.partitioning}"


@dataclass(frozen=True)
class Plan:
    """What is searched. `zeros` says how dense tensors are.

    `input_gradients` asks for bw also where training needs none (the first layer). Raises `InputError` where nothing is
    searched, and for `constraints` that suit neither the accelerator nor any layer.
    """

    network: Network
    accelerator: Accelerator
    partitionings: tuple[Partitioning, ...]
    phases: tuple[Phase, ...] = tuple(Phase)
    metric: str = METRICS[0]
    top: int = TOP
    input_gradients: bool = False
    constraints: Constraints = UNCONSTRAINED
    zeros: ZerosGiven = ALL_DENSE

    def __post_init__(self) -> None:
        if not self.tasks:
            asked = ", ".join(self.phases)
            raise InputError(f"no layer of '{self.network.name}' has a phase {asked}", hint=self._hint())
        check(self.constraints, self.accelerator, (problem.einsum for problem in self.problems))

    def _hint(self) -> str:
        skipped = any(layer.phases() != layer.phases(input_gradients=True) for layer in self.network)
        return "--input-gradients searches bw where training does not need it" if skipped else "fw"

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every ranking: layers as in the network, then phases, parts and partitionings."""
        return tuple(
            Task(layer, part, self._problem(layer, part, partitioning))
            for layer in self.network
            for phase in layer.phases(self.input_gradients)
            if phase in self.phases
            for part in layer.parts(phase)
            for partitioning in self.partitionings
        )

    def _problem(self, layer: Layer, part: Part, partitioning: Partitioning) -> Problem:
        sparsity = self._sparsity(layer, part)
        return Problem(part.einsum, self.accelerator, partitioning, self.metric, self.top, self.constraints, sparsity)

    def _sparsity(self, layer: Layer, part: Part) -> Sparsity:
        """Of a part; cutting a mask to it takes a moment, and every partitioning asks."""
        key = (layer.label, part.phase, part.index)
        if key not in self._sparsities:
            self._sparsities[key] = self.zeros.sparsity(layer, part)
        return self._sparsities[key]

    @cached_property
    def _sparsities(self) -> dict[tuple[str, Phase, int], Sparsity]:
        return {}

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The distinct problems among the tasks, in their order."""
        return tuple(dict.fromkeys(task.problem for task in self.tasks))


class Stop(StrEnum):
    """Why a run ended before all its problems were solved."""

    interrupted = "interrupted"
    timeout = "time limit reached"
    workers = "a worker process ended by itself (out of memory? a smaller -j needs less)"


@dataclass(frozen=True)
class Run:
    """What came of a plan. `outcomes` lacks the problems that were not finished; `stopped` says why."""

    plan: Plan
    outcomes: dict[Problem, Outcome]
    stopped: Stop | None = None
    seconds: float = 0.0

    @cached_property
    def rankings(self) -> tuple[tuple[Task, Ranking], ...]:
        """Tasks with a mapping, in the plan's order."""
        found = ((task, self.outcomes.get(task.problem)) for task in self.plan.tasks)
        return tuple(
            (task, ranking(task.problem, outcome, task.layer, task.part))
            for task, outcome in found
            if isinstance(outcome, Solution)
        )

    @property
    def failures(self) -> tuple[tuple[Task, MapperError], ...]:
        """Tasks for which no mapping fits, or that cannot be searched, each with its reason."""
        found = ((task, self.outcomes.get(task.problem)) for task in self.plan.tasks)
        return tuple((task, outcome) for task, outcome in found if isinstance(outcome, MapperError))

    @property
    def unfinished(self) -> tuple[Task, ...]:
        """Tasks whose search did not end."""
        return tuple(task for task in self.plan.tasks if task.problem not in self.outcomes)


def run(
    plan: Plan,
    jobs: int = 1,
    timeout: float | None = None,
    on_done: Callable[[Problem, Outcome], None] = lambda _problem, _outcome: None,
    store: Store | None = None,
) -> Run:
    """Solve the problems of `plan` on `jobs` processes, for at most `timeout` seconds; the same result for any `jobs`.

    A problem without a mapping does not stop the others, and Ctrl-C keeps what is finished: see `Run`. `on_done` is
    called as each problem is solved, in no particular order. What `store` holds is taken from there, the others are
    committed to it as they end; raises its `InputError` where that fails.
    """
    start = time.monotonic()
    outcomes: dict[Problem, Outcome] = {}
    stopped: Stop | None = None

    def keep(problem: Problem, outcome: Outcome) -> None:
        outcomes[problem] = outcome
        on_done(problem, outcome)

    try:
        for problem, known in _known(plan.problems, store):
            keep(problem, known)
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - start))
        missing = [problem for problem in plan.problems if problem not in outcomes]
        with closing(attempt_all(missing, jobs, left)) as results:
            for problem, outcome in results:
                if store is not None:
                    store.put(problem, outcome)
                keep(problem, outcome)
    except KeyboardInterrupt:
        stopped = Stop.interrupted
    except WorkersLostError:
        stopped = Stop.workers
    cut = any(isinstance(o, Solution) and not o.certificate.optimal for o in outcomes.values())
    if stopped is None and (cut or len(outcomes) < len(plan.problems)):
        stopped = Stop.timeout
    return Run(plan, outcomes, stopped, time.monotonic() - start)


def _known(problems: Iterable[Problem], store: Store | None) -> Iterator[tuple[Problem, Outcome]]:
    """What `store` holds of `problems`."""
    if store is None or not len(store):
        return
    for problem in problems:
        outcome = store.get(problem)
        if outcome is not None:
            yield problem, outcome
