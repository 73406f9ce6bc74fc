"""Sweeps: every point is what a search of its settings gives, whatever it shares with others."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mapper.arch import load_arch
from mapper.errors import InfeasibleError, InputError, MapperError
from mapper.mapping import parse_partitionings
from mapper.report.sweep_tables import points_table, sweep_mappings_table
from mapper.report.tables import mappings_table
from mapper.report.totals import totals_table
from mapper.runs import Plan, Stop, Store, WorkersLostError, run, work
from mapper.runs.outcome import read, read_measured, written
from mapper.runs.solving import MEASURE, How
from mapper.runs.sweep import Sweep, load_sweep, sweep
from mapper.runs.work import Measured, Measurement, attempt, measure
from mapper.search.rows import Row
from mapper.search.solve import Problem, Solution, solve
from mapper.sparsity.given import ZerosGiven
from mapper.workload import Phase, load_network
from tests import tiny

pytestmark = pytest.mark.filterwarnings("ignore::mapper.errors.MapperWarning")

SPARSE = """\
network: net.yaml
arch: procrustes
batch: 4
phase: [fw, bw, wu]
partition: [KN, CN]
top: 2
set: {GLB.capacity_kib: 1}
grid:
  weights:
    dense: {density: 1}
    sparse: {density: 0.25, activation_density: 0.5}
    pattern: {density: 2:4}
points:
  - {metric: edp, array: 2x2}
  - {metric: cycles, array: 2x4, RF.capacity_words: 16}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)


def loaded(text: str) -> Sweep:
    Path("s.yaml").write_text(text, encoding="utf-8")
    return load_sweep("s.yaml")


SMALL = "network: net.yaml\narch: toy.yaml\nphase: fw\npartition: [KN, CN]\ngrid: {array: [1x2, 2x2], batch: [1, 2]}\n"


def small() -> Sweep:
    """Four points, sixteen problems."""
    return loaded(SMALL)


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """The problems that are searched, in order."""
    found: list[Problem] = []

    def counted(problem: Problem, deadline: float | None) -> Solution:
        found.append(problem)
        return solve(problem, deadline)

    monkeypatch.setattr(work, "solve", counted)
    return found


def of_point(rows: tuple[Row, ...], names: Mapping[str, object], without: set[str]) -> list[Row]:
    """Rows of one point, without what varies and what only a sweep has."""
    chosen = [row for row in rows if all(row[name] == value for name, value in names.items())]
    return [{column: value for column, value in row.items() if column not in without} for row in chosen]


def test_every_point_has_the_rows_of_a_search_of_its_settings() -> None:
    """The plans are made by hand here: nothing of what reads a sweep has a part in them."""
    found = sweep(loaded(SPARSE), How())
    points, mappings = points_table(found), sweep_mappings_table(found)
    axes = ("metric", "array", "RF.capacity_words", "weights")
    assert found.sweep.axes == axes
    compared = 0
    for metric, array, words in (("edp", "2x2", None), ("cycles", "2x4", 16)):
        changes: dict[str, str | int] = {"GLB.capacity_kib": 1, "array": array}
        accelerator = load_arch("procrustes", changes | ({} if words is None else {"RF.capacity_words": words}))
        for name, zeros in (
            ("dense", ZerosGiven.of(1)),
            ("sparse", ZerosGiven.of({"W": 0.25, "I": 0.5})),
            ("pattern", ZerosGiven.of("2:4")),
        ):
            network = load_network("net.yaml", batch=4)
            spread = parse_partitionings("KN,CN", network.dimensions)
            alone = run(Plan(network, accelerator, spread, tuple(Phase), metric, top=2, zeros=zeros))
            names = dict(zip(axes, (metric, array, words, name), strict=True))
            assert of_point(mappings.rows, names, set(axes)) == list(mappings_table(alone).rows)
            totals = of_point(points.rows, names, {*axes, "area_um2", "pareto"})
            assert totals == list(totals_table(alone).rows)
            assert [list(row) for row in totals] == [list(row) for row in totals_table(alone).rows]
            compared += len(totals)
    assert compared == len(points.rows) == 6 * 4 * 3


def test_problems_that_points_share_are_solved_once(solved: list[Problem]) -> None:
    """Batches 1 and 2 of one layer are as different as two layers; two names of the same are the same."""
    axes = "grid: {a: {x: {balance: none}, y: {balance: none}}, batch: [1, 2]}\n"
    axes += "points: [{phase: fw}, {phase: 'fw,bw'}]\n"
    found = loaded("network: net.yaml\narch: procrustes\npartition: KN\ndensity: 0.5\n" + axes)
    ran = sweep(found, How())
    assert (len(found.points), len(found.tasks)) == (8, 4 * 3 + 4 * 5)
    assert solved == list(found.problems)
    assert len(solved) == len(set(solved)) == len(ran.outcomes) == 2 * (2 + 2)


def test_a_sweep_is_the_same_on_two_processes() -> None:
    found = small()
    assert tables(found, How(jobs=2)) == tables(found, How())


def tables(found: Sweep, how: How) -> tuple[str, str]:
    ran = sweep(found, how)
    assert (ran.stopped, len(ran.outcomes)) == (None, len(found.problems))
    return str(points_table(ran)), str(sweep_mappings_table(ran))


def test_a_problem_without_a_mapping_leaves_the_other_points(solved: list[Problem]) -> None:
    found = loaded("network: mixed.yaml\npartition: KN\nphase: fw\ngrid: {arch: [picky.yaml, toy.yaml]}\n")
    ran = sweep(found, How())
    assert len(solved) == 4
    assert [[str(task) for task, _ in point.failures] for point in ran.points] == [["does_not fw 1/1 KN"], []]
    assert isinstance(ran.points[0].failures[0][1], InfeasibleError)
    assert [len(point.firsts) for point in ran.points] == [1, 2]


# Stores ---------------------------------------------------------------------------------------------------------------


def test_what_a_search_has_kept_a_sweep_need_not_search_and_the_reverse(solved: list[Problem]) -> None:
    found = small()
    plan = found.points[0].plan
    expected = tables(found, How())
    expected_search = str(mappings_table(run(plan)))
    for first, second in ((True, False), (False, True)):
        path = Path(f"{first}.sqlite")
        with Store(path) as store:
            for of_sweep in (first, second):
                solved.clear()
                if of_sweep:
                    assert tables(found, How(store=store)) == expected
                    assert len(solved) == (16 if first else 12)
                else:
                    assert str(mappings_table(run(plan, store=store))) == expected_search
                    assert len(solved) == (0 if first else 4)
            assert len(store) == 16


def test_a_sweep_takes_what_is_finished_and_tells_of_it_apart(solved: list[Problem]) -> None:
    found = small()
    done, known = list[Problem](), list[Problem]()

    def solve(problem: Problem, _outcome: object) -> None:
        done.append(problem)

    def take(problem: Problem, _outcome: object) -> None:
        known.append(problem)

    with Store(Path("jobs.sqlite")) as store:
        for problem in found.problems[3:9]:
            outcome = measure(problem)
            assert outcome is not None
            store.put(problem, outcome)
        solved.clear()
        expected = tables(found, How())
        solved.clear()
        assert tables(found, How(on_done=solve, store=store, on_known=take)) == expected
        assert known == list(found.problems[3:9])
        assert done == solved == [*found.problems[:3], *found.problems[9:]]
        done.clear()
        sweep(found, How(on_done=solve, store=store))
        assert done == list(found.problems)


def rows_equal(one: Measurement | None, other: Measurement | None) -> bool:
    """The same rows with the same types; a number that is none is itself."""
    return repr(one) == repr(other)


@pytest.mark.parametrize("metric", ["edp", "pareto"])
def test_rows_come_back_from_a_store_as_they_went_in(metric: str) -> None:
    text = SPARSE.replace("{metric: edp,", f"{{metric: {metric},")
    with Store(Path("rows.sqlite")) as rows, Store(Path("decisions.sqlite")) as decisions:
        for problem in loaded(text).problems[::7]:
            outcome, measured = attempt(problem), measure(problem)
            assert outcome is not None
            assert measured is not None
            rows.put(problem, measured)
            decisions.put(problem, outcome)
            assert rows_equal(rows.get(problem, read_measured), measured)
            assert rows_equal(decisions.get(problem, read_measured), measured)
            back = rows.get(problem, read)
            assert isinstance(back, Solution)
            assert isinstance(measured, Measured)
            assert [each.evaluation.energy_pj for each in back.ranked] == [row["energy_pj"] for row in measured.rows]


@pytest.mark.parametrize(
    "change",
    [
        {"ranked": []},
        {"ranked": None},
        {"ranked": [3]},
        {"certificate": {}},
        {"certificate": None},
        {"ranked": [{"mapping": "nonsense", "cycles": 1, "energy_pj": 1.0}]},
    ],
)
def test_another_text_is_no_measurement(change: dict[str, object]) -> None:
    problem = small().problems[0]
    measured = measure(problem)
    assert isinstance(measured, Measured)
    text = written(measured)
    assert text is not None
    with pytest.raises(ValueError, match=r"."):
        read_measured(json.dumps(json.loads(text) | change), problem)


def test_rows_of_a_search_that_was_cut_are_not_kept() -> None:
    problem = small().problems[0]
    measured = measure(problem)
    assert isinstance(measured, Measured)
    cut = replace(measured, certificate=replace(measured.certificate, optimal=False, gap=0.5))
    assert written(cut) is None
    text = str(written(measured)).replace('"optimal": true, "gap": 0.0, "', '"optimal": false, "gap": 0.0, "')
    cut_text = text.replace('"certificate": {"optimal": true', '"certificate": {"optimal": false')
    assert cut_text != written(measured)
    with pytest.raises(ValueError, match="no finished search"):
        read_measured(cut_text, problem)


# Shards ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [1, 2, 3, 7, 16, 40])
def test_shards_are_all_problems_each_in_one(of: int) -> None:
    found = small()
    shards = [found.shard(number, of) for number in range(1, of + 1)]
    assert sorted(map(found.problems.index, (p for shard in shards for p in shard))) == list(range(16))
    assert max(map(len, shards)) == math.ceil(16 / of)


def test_shards_that_are_merged_are_the_whole_sweep(solved: list[Problem]) -> None:
    found = small()
    expected = tables(found, How())
    for number in (1, 2, 3):
        with Store(Path(f"{number}.sqlite")) as store:
            part = sweep(found, How(store=store), found.shard(number, 3))
            assert (part.stopped, len(part.outcomes)) == (None, len(found.shard(number, 3)))
    with Store(Path("all.sqlite")) as store:
        assert [store.merge(Path(f"{number}.sqlite")) for number in (1, 2, 3, 2)] == [6, 5, 5, 0]
        solved.clear()
        assert tables(found, How(store=store)) == expected
        assert solved == []


def test_a_store_is_merged_as_it_is_and_left_so() -> None:
    found = small()
    with Store(Path("a.sqlite")) as store:
        sweep(found, How(store=store), found.shard(1, 2))
    before = Path("a.sqlite").read_bytes()
    with Store(Path("b.sqlite")) as store:
        store.put(found.problems[0], MapperError("here first"))
        assert store.merge(Path("a.sqlite")) == 7
        assert store.merge(Path("b.sqlite")) == 0
        assert str(store.get(found.problems[0], MEASURE.read)) == "here first"
    assert Path("a.sqlite").read_bytes() == before


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def changed_by_hand(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE jobs SET outcome = replace(outcome, '1', '2') WHERE rowid = 3")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("accident", "message"),
    [
        (lambda path: path.unlink(), "no such store (the folder of a shard has it)"),
        (lambda path: path.write_bytes(b""), "no such store (the folder of a shard has it)"),
        (lambda path: path.write_text("my notes"), "not a store of finished searches (move it, or give another --ou"),
        (cut_short, "it is damaged (remove it, or search without --resume)"),
        (changed_by_hand, "it is damaged (remove it, or search without --resume)"),
    ],
)
def test_what_cannot_be_merged_is_one_error_and_takes_nothing(accident: Callable[[Path], object], message: str) -> None:
    found, path = small(), Path("a.sqlite")
    with Store(path) as store:
        sweep(found, How(store=store))
    accident(path)
    before = path.read_bytes() if path.exists() else None
    with Store(Path("b.sqlite")) as store:
        with pytest.raises(InputError) as caught:
            store.merge(path)
        assert len(store) == 0
    assert str(caught.value).startswith(f"a.sqlite: {message}")
    assert (path.read_bytes() if path.exists() else None) == before


# Ends -----------------------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    found = small()

    def interrupted(problem: Problem, deadline: float | None) -> Solution:
        if problem is found.problems[5]:
            raise KeyboardInterrupt
        return solve(problem, deadline)

    monkeypatch.setattr(work, "solve", interrupted)
    with Store(Path("jobs.sqlite")) as store:
        ran = sweep(found, How(store=store))
        assert (ran.stopped, len(ran.outcomes), len(store)) == (Stop.interrupted, 5, 5)
    totals = {(row["array"], row["batch"], row["partitioning"]): row for row in points_table(ran).rows}
    assert totals["1x2", 1, "KN"]["layers_without_mapping"] == 0
    assert totals["2x2", 2, "KN"]["layers_without_mapping"] == 3
    assert totals["2x2", 2, "KN"]["pareto"] is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_time_limit_ends_a_sweep(jobs: int) -> None:
    ran = sweep(small(), How(jobs, timeout=1e-6))
    assert (ran.stopped, ran.outcomes) == (Stop.timeout, {})


def test_a_worker_that_is_lost_is_an_outcome_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = small()
    lost = WorkersLostError("gone")
    with Store(Path("jobs.sqlite")) as store:
        store.put(found.problems[0], lost)
        assert len(store) == 0
    monkeypatch.setattr(work, "attempt", lambda problem, _: lost if problem is found.problems[0] else attempt(problem))
    ran = sweep(found, How())
    assert [str(error) for _, error in ran.points[0].failures] == ["gone", "gone"]
