"""Every search that a network asks for: its layers, phases and partitionings, identical problems solved once.

>>> from mapper import load_arch, load_network
>>> from mapper.mapping import parse_partitionings
>>> plan = Plan(load_network("resnet18"), load_arch("procrustes"), parse_partitionings("all", "NGKCPQRS"))
>>> len(plan.tasks), len(plan.problems)
(332, 224)
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

from mapper.arch import Accelerator
from mapper.errors import InputError, MapperError
from mapper.mapping import Partitioning, parse_partitionings
from mapper.mapping.partitioning import STANDARD
from mapper.runs.solving import SOLVE, How, OnDone, Stop, ignore, solve_all
from mapper.runs.store import Store
from mapper.runs.work import Outcome
from mapper.search.constraint_checks import check
from mapper.search.constraints import UNCONSTRAINED, Constraints
from mapper.search.pool import METRICS
from mapper.search.result import Ranking
from mapper.search.rows import Row, measures
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

    @property
    def names(self) -> dict[Problem, str]:
        """Where each problem is first asked for."""
        return {task.problem: str(task) for task in reversed(self.tasks)}

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The distinct problems among the tasks, in their order."""
        return tuple(dict.fromkeys(task.problem for task in self.tasks))


def partitionings(text: str | None, network: Network) -> tuple[Partitioning, ...]:
    """Partitionings of a list such as `CK,KN` for the dimensions of a network.

    None: the four of `all`, or the search's choice (`any`) where the network has not their dimensions.
    """
    known = network.dimensions
    return parse_partitionings(text or ("all" if set("".join(STANDARD)) <= set(known) else "any"), known)


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

    @cached_property
    def firsts(self) -> tuple[tuple[Task, Row], ...]:
        """The best mapping of every task that has any, as a row without names."""
        return tuple((task, measures(found[0])) for task, found in self.rankings)

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
    on_done: OnDone = ignore,
    store: Store | None = None,
    executor: Executor | None = None,
    on_known: OnDone | None = None,
) -> Run:
    """Solve the problems of `plan` on `jobs` processes, or by an executor of `concurrent.futures`, for at most
    `timeout` seconds; the same result for any of them.

    A problem without a mapping does not stop the others, and Ctrl-C keeps what is finished: see `Run`. `on_done` is
    called as each problem is solved, in no particular order. What `store` holds is taken from there, and told to
    `on_known` where that is given; the others are committed to it as they end. Raises its `InputError` where it fails.
    """
    solved = solve_all(plan.problems, How(jobs, timeout, on_done, store, executor, on_known), SOLVE)
    return Run(plan, solved.outcomes, solved.stopped, solved.seconds)
