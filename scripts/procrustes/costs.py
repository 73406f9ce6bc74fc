"""What is searched, and what the best mappings cost: sums over layers, each times its repeat, of cycles and energy.

Every design is a plan of its own; identical problems of all of them are solved once, in one pool of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mapper.arch import Accelerator
from mapper.cost.batch import evaluate_nests
from mapper.cost.single import Evaluation
from mapper.errors import InfeasibleError
from mapper.mapping import Partitioning, parse_partitionings
from mapper.mapping.loopnest import Nests
from mapper.runs.network import Plan, Task
from mapper.runs.solving import SOLVE, How, solve_all
from mapper.runs.work import Outcome
from mapper.search.solve import Problem, Solution
from mapper.sparsity.given import ZerosGiven
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Network
from procrustes.assumptions import Assumptions

DIMENSIONS = "NGKCPQRS"
COMPONENTS = ("DRAM", "GLB", "RF", "MAC", "zeros")
"""Parts of the energy; "zeros" is all hardware that handles them."""
PHASES = ("fw", "bw", "wu")
ALL = "all"
"""The three phases together."""
DENSE, SPARSE = "dense", "sparse"
MAIN = "KN"
"""The partitioning that the two designs are compared with."""


@dataclass(frozen=True)
class Design:
    """A network on one accelerator under one partitioning: the dense baseline, or Procrustes with zeros."""

    network: str
    kind: str
    partitioning: str


@dataclass(frozen=True)
class Cost:
    """Cycles, and picojoules of the `COMPONENTS`."""

    cycles: int = 0
    energies: tuple[float, ...] = (0.0,) * len(COMPONENTS)

    @property
    def energy_pj(self) -> float:
        return sum(self.energies)

    def __add__(self, other: Cost) -> Cost:
        energies = tuple(a + b for a, b in zip(self.energies, other.energies, strict=True))
        return Cost(self.cycles + other.cycles, energies)

    def __mul__(self, times: int) -> Cost:
        return Cost(self.cycles * times, tuple(energy * times for energy in self.energies))


def cost_of(evaluation: Evaluation) -> Cost:
    """Cost of one mapping."""
    return _cost(evaluation.cycles, evaluation.energy_by("component"))


def cost_under(nests: Nests, accelerator: Accelerator, sparsity: Sparsity) -> Cost:
    """The same of a mapping under other conditions, and nothing else that an evaluation says."""
    found = evaluate_nests(nests.without_unit_slots(), accelerator, sparsity)
    energies: dict[str, float] = {}
    for (component, _, _), charge in found.charges.items():
        energies[component] = energies.get(component, 0.0) + float(charge.energy_pj[0])
    return _cost(int(found.costs.cycles[0]), energies)


def _cost(cycles: int, energies: dict[str, float]) -> Cost:
    found = dict.fromkeys(COMPONENTS, 0.0)
    for component, energy in energies.items():
        found[component if component in found else COMPONENTS[-1]] += energy
    return Cost(cycles, tuple(found.values()))


@dataclass(frozen=True)
class Best:
    """The best mapping of one part of a layer in one phase."""

    task: Task
    evaluation: Evaluation

    @property
    def phase(self) -> str:
        return str(self.task.phase)

    @property
    def cost(self) -> Cost:
        """Of all equal layers."""
        return cost_of(self.evaluation) * self.task.layer.repeat


@dataclass(frozen=True)
class Recosted:
    """A mapping of a part under other conditions than it was found for."""

    task: Task
    alone: Cost

    @property
    def phase(self) -> str:
        return str(self.task.phase)

    @property
    def cost(self) -> Cost:
        """Of all equal layers."""
        return self.alone * self.task.layer.repeat


Found = dict[Design, tuple[Best, ...]]


def plans(
    networks: Sequence[Network],
    assumptions: Assumptions,
    partitionings: Sequence[str],
    accelerators: tuple[Accelerator, Accelerator],
    baselines: Sequence[str] = ("KN",),
) -> dict[Design, Plan]:
    """Everything that is searched: Procrustes under each partitioning, the dense baseline under `baselines`."""
    dense, sparse = accelerators
    out = {}
    for network in networks:
        zeros = assumptions.zeros(network)
        for spread in _parsed(baselines):
            design = Design(network.name, DENSE, spread.name)
            out[design] = Plan(network, dense, (spread,), top=1)
        for spread in _parsed(partitionings):
            design = Design(network.name, SPARSE, spread.name)
            out[design] = Plan(network, sparse, (spread,), top=1, zeros=zeros)
    return out


def _parsed(names: Iterable[str]) -> Iterator[Partitioning]:
    for name in names:
        yield from parse_partitionings(name, DIMENSIONS)


def problems_of(asked: Iterable[Plan]) -> tuple[Problem, ...]:
    """The distinct problems of plans."""
    return tuple(dict.fromkeys(problem for plan in asked for problem in plan.problems))


def solved(asked: dict[Design, Plan], jobs: int, on_done: Callable[[], None] = lambda: None) -> dict[Problem, Outcome]:
    """Outcomes of all plans' problems on `jobs` processes."""
    how = How(jobs, on_done=lambda _problem, _outcome: on_done())
    return solve_all(problems_of(asked.values()), how, SOLVE).outcomes


def best_of(asked: dict[Design, Plan], outcomes: dict[Problem, Outcome]) -> Found:
    """The best mapping of every part. Raises `InfeasibleError` where a part has none."""
    return {design: tuple(_best(task, outcomes[task.problem]) for task in plan.tasks) for design, plan in asked.items()}


def _best(task: Task, outcome: Outcome) -> Best:
    if not isinstance(outcome, Solution):
        raise InfeasibleError(f"{task}: {outcome}")
    return Best(task, outcome.ranked[0].evaluation)


def total(best: Iterable[Best | Recosted], phase: str = ALL) -> Cost:
    """Sum over the parts of a phase, or of all three."""
    return sum((each.cost for each in best if phase in (ALL, each.phase)), Cost())


@dataclass(frozen=True)
class Study:
    """What was asked and what was found: networks by name, the dense and the sparse accelerator, the best mappings."""

    networks: dict[str, Network]
    assumptions: Assumptions
    accelerators: tuple[Accelerator, Accelerator]
    found: Found

    def best(self, network: str, kind: str, partitioning: str) -> tuple[Best, ...]:
        return self.found[Design(network, kind, partitioning)]

    def compared(self, network: str) -> Study:
        """The part of it that compares the two designs of a network, both with the main partitioning."""
        designs = (Design(network, kind, MAIN) for kind in (DENSE, SPARSE))
        return replace(self, networks={network: self.networks[network]}, found={d: self.found[d] for d in designs})

    def searched(self, kind: str) -> tuple[str, ...]:
        """Partitionings that were searched."""
        return tuple(dict.fromkeys(design.partitioning for design in self.found if design.kind == kind))

    def rebalanced(self, network: str, partitioning: str, balance: str) -> tuple[Recosted, ...]:
        """The mappings of Procrustes, balanced in another way."""
        zeros = self.assumptions.zeros(self.networks[network], balance)
        return recosted(self.best(network, SPARSE, partitioning), zeros, self.accelerators[1])


def recosted(best: Sequence[Best], zeros: ZerosGiven, accelerator: Accelerator) -> tuple[Recosted, ...]:
    """The same mappings with other densities, balancing or energies.

    A mapping is the best under the conditions that it was found for: under others a search may find a better one.
    """
    known: dict[tuple[Problem, Sparsity], Cost] = {}
    out = []
    for each in best:
        task = each.task
        key = task.problem, zeros.sparsity(task.layer, task.part)
        if key not in known:
            known[key] = cost_under(each.evaluation.nests, accelerator, key[1])
        out.append(Recosted(task, known[key]))
    return tuple(out)
