"""The store of finished searches: what comes back is what went in, and no accident harms what is there."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapper.arch import load_arch
from mapper.cost import Evaluation
from mapper.errors import InfeasibleError, InputError, MapperError, MappingError
from mapper.mapping import parse_partitioning
from mapper.report.tables import tables
from mapper.runs import Plan, Stop, Store, run, work
from mapper.runs import store as store_module
from mapper.runs.outcome import read, written
from mapper.runs.store import APPLICATION, SCHEMA
from mapper.runs.work import Outcome, attempt
from mapper.search.solve import PARETO, Problem, Solution, solve
from mapper.sparsity.density import Actual, Dispersed, Structured, Uniform
from mapper.sparsity.given import ZerosGiven
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload import Einsum
from tests import tiny
from tests.runs.killed import ROOT
from tests.search.problems import random_problem, random_sparse_problem

GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=8, N=12, K=16)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write(tmp_path)
    return tmp_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.sqlite"


def outcome_of(problem: Problem) -> Outcome:
    outcome = attempt(problem)
    assert outcome is not None
    return outcome


def said(evaluation: Evaluation) -> dict[str, Any]:
    """Everything about a mapping but its arrays, which may hold loops of one step."""
    return {field.name: getattr(evaluation, field.name) for field in fields(evaluation) if field.name != "nests"}


def check_same(found: Outcome | None, outcome: Outcome) -> None:
    if isinstance(outcome, MapperError):
        assert type(found) is type(outcome)
        assert (str(found), vars(found)) == (str(outcome), vars(outcome))
        return
    assert isinstance(found, Solution)
    assert found.certificate == outcome.certificate
    assert repr(found.certificate) == repr(outcome.certificate)
    assert [(each.rank, each.certificate) for each in found.ranked] == [
        (each.rank, each.certificate) for each in outcome.ranked
    ]
    for one, other in zip(found.ranked, outcome.ranked, strict=True):
        assert said(one.evaluation) == said(other.evaluation)


PROBLEM = Problem(GEMM, load_arch("procrustes"), parse_partitioning("MN", "MNK"))


def gemm(sparsity: Sparsity = DENSE, **changes: Any) -> Problem:
    return replace(PROBLEM, sparsity=sparsity, **changes)


MASK = np.random.default_rng(3).random((8, 16)) < 0.3


@pytest.mark.parametrize(
    "problem",
    [
        gemm(),
        gemm(top=20, metric="cycles"),
        gemm(metric=PARETO),
        gemm(partitioning=parse_partitioning("any", "MNK"), top=1),
        gemm(Sparsity((("A", Uniform(0.1)), ("B", Dispersed(0.5, 0.01))))),
        gemm(Sparsity((("A", Structured(2, 4, 1)),))),
        gemm(Sparsity((("A", Actual(MASK)),))),
        gemm(Sparsity((("A", Actual(MASK)),), "ideal"), metric=PARETO),
    ],
    ids=["dense", "top", "pareto", "any", "density", "structured", "mask", "mask-pareto"],
)
def test_what_comes_back_is_what_went_in(path: Path, problem: Problem) -> None:
    outcome = outcome_of(problem)
    assert isinstance(outcome, Solution)
    with Store(path) as store:
        assert store.get(problem, read) is None
        store.put(problem, outcome)
    with Store(path) as store:
        assert (len(store), store.finished([problem, gemm(top=3)])) == (1, 1)
        check_same(store.get(problem, read), outcome)


@pytest.mark.parametrize("make", [random_problem, random_sparse_problem])
def test_random_searches_come_back(path: Path, make: Callable[..., Problem]) -> None:
    with Store(path) as store:
        for seed in range(40):
            problem = make(random.Random(seed), 2000)
            outcome = outcome_of(problem)
            store.put(problem, outcome)
            check_same(store.get(problem, read), outcome)


@pytest.mark.parametrize(
    "error",
    [
        MapperError("plain"),
        InputError("counts leave 63 bits", "here:3", "a smaller one"),
        InputError("alone"),
        MappingError("no", hint="yes"),
    ],
)
def test_errors_come_back(path: Path, error: MapperError) -> None:
    with Store(path) as store:
        store.put(gemm(), error)
        check_same(store.get(gemm(), read), error)


def test_where_nothing_fits_the_reasons_come_back(folder: Path, path: Path) -> None:
    problem = tiny.plan(folder, "mixed", "picky", partitionings="KN").problems[1]
    outcome = outcome_of(problem)
    assert isinstance(outcome, InfeasibleError)
    with Store(path) as store:
        store.put(problem, outcome)
        check_same(store.get(problem, read), outcome)


def test_what_is_not_final_is_not_kept(path: Path) -> None:
    problem, outcome = gemm(), outcome_of(gemm())
    assert isinstance(outcome, Solution)
    cut = replace(outcome, certificate=replace(outcome.certificate, optimal=False, gap=0.5))

    class OtherError(InputError):
        """Its arguments are not known."""

    with Store(path) as store:
        store.put(problem, cut)
        store.put(problem, replace(cut, certificate=replace(cut.certificate, interrupted=True)))
        store.put(problem, OtherError("x"))
        assert len(store) == 0


def test_a_search_is_committed_once(path: Path) -> None:
    with Store(path) as store, Store(path) as other:
        store.put(gemm(), MapperError("first"))
        other.put(gemm(), MapperError("second"))
        assert len(store) == len(other) == 1
        assert str(other.get(gemm(), read)) == "first"


def table_bytes(plan: Plan, store: Store | None) -> list[str]:
    found = run(plan, store=store)
    assert found.stopped is None
    return [str(table) for table in tables(found)]


@pytest.mark.parametrize("zeros", [ZerosGiven(), ZerosGiven.of({"W": 0.25, "I": 0.5}), ZerosGiven.of("2:4")])
def test_a_run_takes_what_is_finished_and_commits_the_rest(
    folder: Path, path: Path, zeros: ZerosGiven, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(tiny.plan(folder), zeros=zeros)
    expected = table_bytes(plan, None)
    solved: list[Problem] = []

    def counted(problem: Problem, deadline: float | None) -> Solution:
        solved.append(problem)
        return solve(problem, deadline)

    monkeypatch.setattr(work, "solve", counted)
    with Store(path) as store:
        for problem in plan.problems[1:3]:
            store.put(problem, outcome_of(problem))
        solved.clear()
        done: list[Problem] = []
        assert table_bytes(plan, store) == expected
        assert solved == [plan.problems[0], *plan.problems[3:]]
        solved.clear()
        found = run(plan, store=store, on_done=lambda problem, _outcome: done.append(problem))
        assert (solved, found.unfinished) == ([], ())
        assert done == list(plan.problems)
        assert table_bytes(plan, store) == expected


def test_ctrl_c_keeps_what_is_committed(folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tiny.plan(folder)

    def interrupted(problem: Problem, deadline: float | None) -> Solution:
        if problem is plan.problems[2]:
            raise KeyboardInterrupt
        return solve(problem, deadline)

    monkeypatch.setattr(work, "solve", interrupted)
    with Store(path) as store:
        assert run(plan, store=store).stopped is Stop.interrupted
        assert store.finished(plan.problems) == 2


# Accidents ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(path: Path) -> Path:
    """A store with some finished searches."""
    with Store(path) as store:
        put_many(store, 59)
    return path


def put_many(store: Store, number: int) -> None:
    for top in range(1, number + 1):
        store.put(gemm(top=top), MapperError("x" * 400))


def executed(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def replaced(path: Path, *statements: str) -> None:
    path.unlink()
    executed(path, *statements)


def overwritten(start: int, stop: int) -> Callable[[Path], None]:
    def accident(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[start:stop] = b"\xff" * len(data[start:stop])
        path.write_bytes(data)

    return accident


ACCIDENTS: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "text": (lambda path: path.write_text("my notes, " * 300), "not a store of finished searches", False),
    "foreign": (
        lambda path: replaced(path, "CREATE TABLE birds (name)"),
        "a database, but not of mapper",
        False,
    ),
    "newer": (
        lambda path: executed(path, f"PRAGMA user_version = {SCHEMA + 1}"),
        f"layout {SCHEMA + 1} of another version of mapper; this one knows {SCHEMA}",
        True,
    ),
    "no table": (lambda path: executed(path, "DROP TABLE jobs", "CREATE TABLE other (x)"), "it is damaged", True),
    "overwritten": (overwritten(4096, 20000), "it is damaged", True),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:9000]), "it is damaged", True),
}
"""What happens to the file, what is said of it, and whether a search that starts anew may replace it."""


@pytest.mark.parametrize(("accident", "message", "ours"), ACCIDENTS.values(), ids=ACCIDENTS.keys())
def test_a_file_that_cannot_be_used_is_one_error_and_stays(
    filled: Path, accident: Callable[[Path], object], message: str, ours: bool
) -> None:
    accident(filled)
    before = filled.read_bytes()
    with pytest.raises(InputError) as caught, Store(filled) as store:
        store.finished([gemm()])
    assert (caught.value.message, caught.value.where) == (message, str(filled))
    assert caught.value.hint
    assert filled.read_bytes() == before
    if ours:
        with Store(filled, fresh=True) as store:
            assert len(store) == 0
            store.put(gemm(), MapperError("again"))
            assert len(store) == 1
    else:
        with pytest.raises(InputError, match=message):
            Store(filled, fresh=True)
        assert filled.read_bytes() == before


def test_a_fresh_store_has_nothing_of_before(filled: Path) -> None:
    with Store(filled, fresh=True) as store:
        assert len(store) == 0


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with Store(path) as store:
        store.put(gemm(), MapperError("x"))
    connection = sqlite3.connect(path)
    asked = ("application_id", "user_version", "journal_mode")
    assert [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked] == [APPLICATION, SCHEMA, "wal"]
    connection.close()


def test_a_folder_in_its_place_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(InputError, match="cannot be opened"):
        Store(path)


@pytest.mark.parametrize("digested", [True, False])
def test_a_search_that_somebody_changed_is_an_error(path: Path, digested: bool) -> None:
    outcome = outcome_of(gemm())
    with Store(path) as store:
        store.put(gemm(), outcome)
    text = written(outcome)
    assert text is not None
    document = json.loads(text)
    document["ranked"][0]["energy_pj"] *= 1 + 1e-15
    changed = json.dumps(document)
    digest = store_module._digest(changed if digested else text)
    executed(path, f"UPDATE jobs SET outcome = '{changed}', digest = '{digest}'")
    with Store(path) as store, pytest.raises(InputError, match="damaged, or was costed by another mapper"):
        store.get(gemm(), read)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "3", "{}", '{"error": {}}', '{"error": {"class": "Exception"}}'),
        '{"ranked": [], "certificate": {"optimal": true}}',
        '{"ranked": [{"mapping": "nonsense"}], "certificate": {}}',
    ],
)
def test_another_text_is_no_outcome(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text, gemm())


def test_a_full_disk_is_one_error_and_loses_nothing(path: Path) -> None:
    with Store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(InputError) as caught:
            put_many(store, 1000)
        assert str(caught.value).startswith(f"{path}: no room left on the disk (what is finished is kept")
        kept = len(store)
        assert 5 < kept < 1000
    with Store(path) as store:
        assert len(store) == kept
        assert store.finished([gemm(top=top) for top in range(1, kept + 2)]) == kept
        store.put(gemm(top=kept + 1), MapperError("fits again"))
        assert len(store) == kept + 1


def test_after_a_kill_in_the_middle_the_log_is_taken_up(filled: Path, tmp_path: Path) -> None:
    """A copy of the files of a store that is open is what a kill leaves."""
    with Store(filled) as store:
        store.put(gemm(top=99), MapperError("in the log"))
        for file in list(tmp_path.glob("jobs.sqlite*")):
            shutil.copy(file, tmp_path / file.name.replace("jobs", "left"))
    assert (tmp_path / "left.sqlite-wal").stat().st_size
    with Store(tmp_path / "left.sqlite") as left:
        assert str(left.get(gemm(top=99), read)) == "in the log"
        assert len(left) == 60


def test_what_is_discarded_is_gone_unless_somebody_has_it_open(filled: Path, tmp_path: Path) -> None:
    with Store(filled) as other:
        Store(filled).discard()
        assert len(other) == 59
    Store(filled).discard()
    assert not list(tmp_path.glob("jobs.sqlite*"))


TOGETHER = """
import sys, time
from pathlib import Path
from mapper.errors import MapperError
from mapper.runs import Store
from mapper.runs.outcome import read
from tests.runs.test_store import gemm

problems = [gemm(top=top) for top in range(1, 120)]
while time.time() < float(sys.argv[2]):
    pass
for round in range(4):
    with Store(Path(sys.argv[1])) as store:
        for problem in problems[round * 29 : round * 29 + 32]:
            store.put(problem, MapperError(f"outcome of {problem.top}"))
            assert str(store.get(problem, read)) == f"outcome of {problem.top}"
"""


def test_two_processes_may_use_one_store(path: Path) -> None:
    begin = str(time.time() + 2.5)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(path), begin], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    with Store(path) as store:
        assert len(store) == store.finished([gemm(top=top) for top in range(1, 120)]) == 119
    executed(path, "PRAGMA integrity_check")
