"""Many plans at once: the points of a sweep, their distinct problems solved once, as rows rather than evaluations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

from mapper.arch import Accelerator
from mapper.arch.build import build
from mapper.arch.changes import changed
from mapper.arch.load import arch_file
from mapper.arch.memory import CAPACITIES, ENERGIES
from mapper.errors import InputError, MapperError, MapperWarning, did_you_mean
from mapper.runs.network import Plan, Task, partitionings
from mapper.runs.solving import MEASURE, How, Stop, solve_all
from mapper.runs.sweep_file import Asked, SweepFile, Value, read_sweep
from mapper.runs.work import Measured, Measurement
from mapper.search.rows import Row
from mapper.search.solve import ASKED, Problem
from mapper.sparsity.asked import ZerosAsked
from mapper.sparsity.given import ZerosGiven
from mapper.workload.network import load_workload, whole_network
from mapper.workload.phase import parse_phases
from mapper.yamlfile import read, shown

T = TypeVar("T")

FILES = ("network", "arch", "masks", "density")
"""Settings that may be a file."""
ZEROS = ("density", "activation_density", "gradient_density", "masks", "balance")
"""Settings that say where zeros are and what is done about them."""
MOST = 1000
"""Mappings of a ranking, as of a search."""


@dataclass(frozen=True)
class Point:
    """One plan of a sweep. `names`: what varies, with its value; `work`: what is done, whatever the design."""

    names: tuple[tuple[str, Value], ...]
    plan: Plan
    work: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.names) or self.plan.accelerator.name


@dataclass(frozen=True)
class Sweep:
    """All points; `axes` names what varies, in the order of the tables' columns.

    `given` has networks, accelerators and what else may be a file, as (setting, text); `places` axes and `file:line`.
    """

    name: str
    axes: tuple[str, ...]
    points: tuple[Point, ...]
    given: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, str], ...] = ()

    @cached_property
    def tasks(self) -> tuple[tuple[Point, Task], ...]:
        """Every ranking of every point."""
        return tuple((point, task) for point in self.points for task in point.plan.tasks)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The distinct problems of all points, in their order."""
        return tuple(dict.fromkeys(task.problem for _, task in self.tasks))

    @cached_property
    def names(self) -> dict[Problem, str]:
        """Where each problem is first asked for."""
        return {task.problem: f"{point}: {task}" for point, task in reversed(self.tasks)}

    def shard(self, number: int, of: int) -> tuple[Problem, ...]:
        """Every `of`-th problem from the `number`-th on, counted from 1: about the same work in each shard."""
        return self.problems[number - 1 :: of]


@dataclass(frozen=True)
class PointRun:
    """What came of one point, as rows."""

    point: Point
    outcomes: dict[Problem, Measurement]

    @property
    def plan(self) -> Plan:
        return self.point.plan

    @cached_property
    def _found(self) -> tuple[tuple[Task, Measurement | None], ...]:
        return tuple((task, self.outcomes.get(task.problem)) for task in self.plan.tasks)

    @cached_property
    def rows(self) -> tuple[tuple[Task, tuple[Row, ...]], ...]:
        """The ranked mappings of every task that has any, in the plan's order."""
        return tuple((task, outcome.rows) for task, outcome in self._found if isinstance(outcome, Measured))

    @property
    def firsts(self) -> tuple[tuple[Task, Row], ...]:
        """The best mapping of every task that has any."""
        return tuple((task, rows[0]) for task, rows in self.rows)

    @property
    def failures(self) -> tuple[tuple[Task, MapperError], ...]:
        """Tasks without a mapping, each with its reason."""
        return tuple((task, outcome) for task, outcome in self._found if isinstance(outcome, MapperError))


@dataclass(frozen=True)
class SweepRun:
    """What came of a sweep; `outcomes` lacks what was not finished, `stopped` says why."""

    sweep: Sweep
    outcomes: dict[Problem, Measurement]
    stopped: Stop | None
    seconds: float

    @cached_property
    def points(self) -> tuple[PointRun, ...]:
        return tuple(PointRun(point, self.outcomes) for point in self.sweep.points)


def sweep(asked: Sweep, how: How, problems: Sequence[Problem] | None = None) -> SweepRun:
    """Solve the problems of a sweep, or those given; the same result however that is done (see `runs.run`)."""
    solved = solve_all(asked.problems if problems is None else problems, how, MEASURE)
    return SweepRun(asked, solved.outcomes, solved.stopped, solved.seconds)


def load_sweep(path: Path | str) -> Sweep:
    """The sweep of a YAML file. Raises `InputError` with the line of the setting that cannot be."""
    file = read_sweep(path)
    loaders = _Loaders()
    points = tuple(_point(asked, loaders) for asked in file.points)
    for line in _unpriced(file):
        warnings.warn(MapperWarning(line), stacklevel=2)
    given = dict.fromkeys((key, asked.text(key)) for key in FILES for asked in file.points)
    files = tuple((key, text) for key, text in given if text is not None)
    return Sweep(Path(path).stem, tuple(file.axes), points, files, tuple(file.axes.items()))


def _unpriced(file: SweepFile) -> Iterator[str]:
    """Sizes that vary while the energy of a word stays that of the file."""
    changes = {key: node for asked in file.points for key, node in asked.changes.items()}
    for key, node in changes.items():
        memory, _, quantity = key.rpartition(".")
        several = len({str(asked.changes[key].plain()) if key in asked.changes else "" for asked in file.points}) > 1
        priced = any(other.startswith(f"{memory}.{energy}") for other in changes for energy in ENERGIES)
        if several and quantity in CAPACITIES and not priced:
            yield f"{node.where}: {key} varies, and the energies of {memory} stay those of the accelerator's file"


class _Loaders:
    """What points share: one object for equal settings, for keys and counts are remembered by it."""

    def __init__(self) -> None:
        self.network = cache(lambda workload, batch, layers: load_workload(workload, batch).only(layers))
        self.partitionings = cache(lambda text, *network: partitionings(text, self.network(*network)))
        self.whole = cache(whole_network)
        self.zeros = cache(lambda asked, workload, batch: asked.given(self.whole(workload, batch)))
        self._specs = cache(lambda name: read(arch_file(name)))
        self._accelerators: dict[tuple[str, ...], Accelerator] = {}

    def accelerator(self, asked: Asked) -> Accelerator:
        """Of the file with the changes of a point."""
        name = str(asked.text("arch"))
        key = (name, *(f"{key}={node.plain()!r}" for key, node in asked.changes.items()))
        if key not in self._accelerators:
            self._accelerators[key] = build(changed(self._specs(name), asked.changes))
        return self._accelerators[key]


def _point(asked: Asked, loaders: _Loaders) -> Point:
    batch = _setting(asked, "batch", lambda: _count(asked, "batch", 1))
    top = _setting(asked, "top", lambda: _count(asked, "top", 1, MOST))
    workload, layers = str(asked.text("network")), asked.words("layers")
    # Whichever of the two is wrong has a line of its own.
    _setting(asked, "network", lambda: loaders.network(workload, batch, ()))
    network = _setting(asked, "layers", lambda: loaders.network(workload, batch, layers))
    text = asked.text("partition")
    parts = (
        _setting(asked, "arch", lambda: loaders.accelerator(asked)),
        _setting(asked, "partition", lambda: loaders.partitionings(text, workload, batch, layers)),
        _setting(asked, "phase", lambda: parse_phases(asked.text("phase"))),
        _setting(asked, "metric", lambda: _metric(asked)),
    )
    zeros = _zeros(asked, lambda each: loaders.zeros(each, workload, batch))
    plan = _setting(asked, "network", lambda: Plan(network, *parts, top, zeros=zeros))
    return Point(asked.names, plan, (("network", workload), ("masks", str(asked.text("masks"))), *_work(plan)))


def _work(plan: Plan) -> tuple[tuple[str, str], ...]:
    """What is done, the same for settings that mean the same, as 0.5 and 50% do."""
    densities = [(place, density) for place, density in plan.zeros.densities if not density.is_dense]
    said = {"batch": plan.network.batch, "layers": plan.network.layer_names, "phase": plan.phases, "zeros": densities}
    return tuple((key, str(value)) for key, value in said.items())


def _setting(asked: Asked, key: str, make: Callable[[], T]) -> T:
    """What a setting stands for; an error that has no line gets that of the setting."""
    try:
        return make()
    except InputError as error:
        if key not in asked.settings or (error.where and ":" in error.where):
            raise
        raise asked.settings[key].error(f"{key}: {error.message}", error.hint) from None


def _count(asked: Asked, key: str, default: int, most: int | None = None) -> int:
    value = asked.settings[key].plain() if key in asked.settings else default
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= (most or value):
        wanted = "1 or more" if most is None else f"1 to {most:,}"
        raise InputError(f"expected a number of {wanted}, found {shown(value)}")
    return value


def _metric(asked: Asked) -> str:
    metric = asked.text("metric") or ASKED[0]
    if metric not in ASKED:
        raise InputError(f"no metric '{metric}'", hint=did_you_mean(metric, ASKED))
    return metric


def _zeros(asked: Asked, load: Callable[[ZerosAsked], ZerosGiven]) -> ZerosGiven:
    """Where zeros are; an error names the option of the command line, or the file, that is wrong."""
    try:
        return load(ZerosAsked.from_dict({name: asked.text(name) for name in ZEROS}))
    except InputError as error:
        option = (error.where or "").removeprefix("--").replace("-", "_")
        given = [name for name in ZEROS if name in asked.settings]
        key = next((name for name in given if option in (name, asked.text(name))), None)
        if key is None:
            raise
        raise asked.settings[key].error(f"{key}: {error.message}", error.hint) from None
