"""Field cases 7, 11, 26 and 38: what the best mapping must be, and how a run of searches must behave.

Case 37, where no mapping fits, stands in tests/cli/test_nofit.py.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mapper.arch import Accelerator, Axis, Buffer, load_arch
from mapper.cli.main import cli
from mapper.cost import Evaluation, evaluate
from mapper.errors import InfeasibleError
from mapper.mapping import Nests
from mapper.search.pool import Pool
from mapper.search.result import Ranked
from mapper.search.run import search
from mapper.workload import Conv2d, Einsum, Linear
from tests import tiny
from tests.machines import array, level, machine, words

Search = Callable[..., Result]


@pytest.fixture
def run_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Run `mapper search` on one process in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["search", "-j", "1", *arguments], prog_name="mapper")

    return run


def rows(path: str | Path) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# 7: a buffer for all weights ------------------------------------------------------------------------------------------

WEIGHTS = 147_456
"""128 x 128 x 3 x 3."""

SPEC = """\
name: weighty
bits: {{default: 16}}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {{read: 200, write: 200, source: by hand}}
  - name: GLB
    buffers:
      - {{name: WBUF, tensors: [W], capacity_words: {0}, energy_pj_per_word: {{read: 6, write: 6, source: by hand}}}}
      - {{name: IBUF, tensors: [I], capacity_words: 130000, energy_pj_per_word: {{read: 6, write: 6, source: by hand}}}}
      - {{name: OBUF, tensors: [O], capacity_words: 60000, energy_pj_per_word: {{read: 6, write: 6, source: by hand}}}}
    fanout: {{x: 16, y: 16}}
  - name: RF
    capacity_words: 256
    energy_pj_per_word: {{read: 1, write: 1, source: by hand}}
compute: {{energy_pj: 1, source: by hand}}
"""
"""IBUF has room for the inputs of one sample, OBUF for half of its outputs."""

LAYER = """\
name: net
layers: [{name: conv, conv: {C: 128, K: 128, R: 3, S: 3, H: 28, W: 28, padding: 1}}]
"""

LANES = "GLB: | X: C=16 | Y: K=16"


@pytest.fixture
def weighty(tmp_path: Path) -> Callable[[int], Accelerator]:
    """The accelerator with a weight buffer of so many words."""

    def make(capacity: int) -> Accelerator:
        path = tmp_path / "weighty.yaml"
        path.write_text(SPEC.format(capacity), encoding="utf-8")
        return load_arch(path)

    return make


def conv(batch: int) -> Conv2d:
    return Conv2d(name="conv", N=batch, K=128, C=128, P=28, Q=28, R=3, S=3, padding=1)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("capacity", [WEIGHTS, 200_000])
@pytest.mark.parametrize(("metric", "lanes"), [("edp", ()), ("cycles", ()), ("energy", LANES)])
def test_case_07_a_buffer_that_holds_all_weights_is_filled_once(
    weighty: Callable[[int], Accelerator], capacity: int, batch: int, metric: str, lanes: str
) -> None:
    found = search(conv(batch), weighty(capacity), partitioning="CK", metric=metric, constraints=lanes)
    assert found.only.certificate.optimal
    best = found[0].evaluation
    assert words(best, "DRAM", "W", "reads") == words(best, "WBUF", "W", "fills") == (WEIGHTS,)


@pytest.mark.parametrize("capacity", [WEIGHTS - 1, WEIGHTS // 2])
def test_case_07_a_buffer_that_is_a_word_too_small_is_filled_again_for_the_second_sample(
    weighty: Callable[[int], Accelerator], capacity: int
) -> None:
    best = search(conv(2), weighty(capacity), partitioning="CK")[0].evaluation
    # Half of the weights at a time, all of them for each sample: fetching all inputs twice would cost more.
    assert words(best, "WBUF", "W", "fills") == (2 * WEIGHTS,)
    assert words(best, "IBUF", "I", "fills") == (2 * 128 * 30 * 30,)
    assert best.energy_pj > search(conv(2), weighty(WEIGHTS), partitioning="CK")[0].evaluation.energy_pj


def explained(run_search: Search, capacity: int) -> list[str]:
    """What `explain` says of the best mapping of two samples, from the tables that `search` wrote."""
    Path("net.yaml").write_text(LAYER, encoding="utf-8")
    Path("weighty.yaml").write_text(SPEC.format(capacity), encoding="utf-8")
    asked = ("net.yaml", "--arch", "weighty.yaml", "--batch", "2", "--phase", "fw", "--partition", "CK")
    assert run_search(*asked, "--top", "1", "--output", "out").exit_code == 0
    return CliRunner().invoke(cli, ["explain", "out"], prog_name="mapper").stdout.splitlines()


def flow(lines: list[str], start: str) -> list[str]:
    """The cells of a row of the table of what moves."""
    return next(line for line in lines if line.startswith(f"  {start} ")).split()


def test_case_07_explain_says_that_no_loop_moves_the_weights_again(run_search: Search) -> None:
    lines = explained(run_search, WEIGHTS)
    assert flow(lines, "W  DRAM to GLB") == ["W", "DRAM", "to", "GLB", "147,456", "147,456", "x", "1", "-"]
    assert not [line for line in lines if "W is refetched" in line and "into GLB" in line]


def test_case_07_explain_names_the_loop_that_moves_the_weights_again(run_search: Search) -> None:
    lines = explained(run_search, WEIGHTS // 2)
    assert flow(lines, "W  DRAM to GLB") == ["W", "DRAM", "to", "GLB", "147,456", "294,912", "x", "2", "-"]
    (line,) = [line for line in lines if "W is refetched" in line and "into GLB" in line]
    assert line.strip() == "W is refetched x 2 into GLB: N2 at DRAM, outside K2"
    assert any("DRAM: N2 K2 |" in line for line in lines)


def test_case_07_the_loop_that_explain_names_is_the_cause(weighty: Callable[[int], Accelerator]) -> None:
    inner = "GLB: C2 P7 Q28 | X: C16 | Y: K16 | RF: C4 K4 P4 R3 S3"
    for loops, fills in {"N2 K2": 2 * WEIGHTS, "K2 N2": WEIGHTS}.items():
        found = evaluate(conv(2), weighty(WEIGHTS // 2), f"DRAM: {loops} | {inner}")
        assert found.fits
        assert words(found, "WBUF", "W", "fills") == (fills,)


# 11: utilization that is asked for ------------------------------------------------------------------------------------

LOW, ASKED = 0.765625, "min_utilization: 0.85"
"""7 of 8 slots along both axes."""

UNSUMMED = Axis(4, reduction=False)
SEVENS = machine(level("DRAM", pj=100.0), level("GLB", 400, x=UNSUMMED, y=UNSUMMED, pj=20.0), level("RF", 3, pj=0.2))
"""Sharing what the GLB reads among 7 x 7 outputs is worth more here than 4 x 4 busy PEs."""
BATCHED = Einsum.parse("Z[G,M,N] += A[G,M,K] * B[G,K,N]; G=4 M=7 N=7 K=8")


def utilizations(found: list[Ranked]) -> list[float]:
    return [ranked.evaluation.utilization for ranked in found]


@pytest.mark.parametrize("metric", ["edp", "energy"])
def test_case_11_a_utilization_below_what_is_asked_for_is_never_returned(metric: str) -> None:
    free = search(BATCHED, SEVENS, partitioning="any", metric=metric)
    assert free[0].evaluation.utilization == LOW
    bound = search(BATCHED, SEVENS, partitioning="any", metric=metric, top=50, constraints=ASKED)
    assert bound.only.certificate.optimal
    assert len(bound) == 50
    assert min(utilizations(list(bound))) >= 0.85


def test_case_11_what_is_returned_is_the_best_of_those_that_reach_it() -> None:
    every = search(BATCHED, SEVENS, partitioning="any", top=200)
    assert every[0].evaluation.utilization == LOW
    reach = [ranked for ranked in every if ranked.evaluation.utilization >= 0.85]
    bound = search(BATCHED, SEVENS, partitioning="any", top=5, constraints=ASKED)
    assert [str(ranked.mapping) for ranked in bound] == [str(ranked.mapping) for ranked in reach[:5]]


@pytest.mark.parametrize(("least", "reached"), [("0.765625", True), ("0.7656251", False), ("0.85", False)])
def test_case_11_what_is_asked_for_is_a_limit_to_the_last_digit(least: str, reached: bool) -> None:
    square = Einsum.parse("O[P,Q] += W[R] * I[P,Q,R]; P=7 Q=7 R=4")
    four = array(4, 4)
    assert search(square, four, partitioning="PQ")[0].evaluation.utilization == LOW
    if reached:
        found = search(square, four, partitioning="PQ", constraints=f"min_utilization: {least}")
        assert set(utilizations(list(found))) == {LOW}
    else:
        with pytest.raises(InfeasibleError, match=f"under min_utilization: {least}"):
            search(square, four, partitioning="PQ", constraints=f"min_utilization: {least}")


def test_case_11_the_tables_hold_only_what_reaches_it(run_search: Search) -> None:
    asked = ("resnet18:layer2.0.conv2", "--arch", "procrustes", "--batch", "64", "--phase", "fw")
    free = run_search(*asked, "--partition", "PQ,CK", "--output", "free")
    assert free.exit_code == 0
    assert {row["utilization"] for row in rows("free/mappings.csv") if row["partitioning"] == "PQ"} == {str(LOW)}
    bound = run_search(*asked, "--partition", "PQ,CK", "--output", "bound", "--constrain", ASKED)
    assert bound.exit_code == 1
    assert bound.stderr.startswith("error: layer2.0.conv2 fw 1/1 PQ: no mapping ")
    assert f"under {ASKED}" in bound.stderr.splitlines()[0]
    found = rows("bound/mappings.csv")
    assert {row["partitioning"] for row in found} == {"CK"}
    assert min(float(row["utilization"]) for row in found) >= 0.85


# 26: more memory, more bandwidth --------------------------------------------------------------------------------------

LAYERS = (
    (Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=10 N=6 K=4"), "any"),
    (Einsum.parse("O[K,P] += W[K,C,R] * I[C,P+R]; K=4 C=3 P=6 R=3"), "PK"),
    (Einsum.parse("O[K,P,Q] += W[K,C] * I[C,2*P,2*Q]; K=6 C=4 P=3 Q=2"), "any"),
    (Conv2d(name="bw", N=2, K=3, C=2, P=4, Q=1, R=3, S=1).parts("bw")[0].einsum, "CN"),
    (Conv2d(name="wu", N=2, K=4, C=2, P=4, Q=1, R=3, S=1).parts("wu")[0].einsum, "KN"),
)
"""Einsums and partitionings."""
METRICS = ("edp", "energy", "cycles")
DESIGNS = range(15)


def design(rng: random.Random) -> Accelerator:
    """DRAM over a buffer over an array with register files; every size and bandwidth is drawn."""

    def ports() -> dict[str, Any]:
        kinds = rng.choice((("shared",), ("read", "write"), ("read",), ()))
        return {kind: rng.choice((0.5, 1.0, 2.0, 6.0)) for kind in kinds}

    double, lanes = rng.random() < 0.3, rng.choice(((2, 2), (3, 2), (3, 1)))
    return machine(
        level("DRAM", pj=100.0, **ports()),
        level("GLB", rng.choice((20, 40, 70)), x=lanes[0], y=lanes[1], pj=6.0, double=double, **ports()),
        level("RF", rng.choice((3, 6, 12)), may_keep=rng.choice(("", "", "I")), **ports()),
    )


def larger(arch: Accelerator, rng: random.Random) -> Iterator[tuple[str, Accelerator]]:
    """The design with one size or bandwidth raised, for every one that has a limit."""
    for index, where in enumerate(arch.levels):
        (held,) = where.buffers
        for name in ("capacity_bits", "read_bandwidth", "write_bandwidth", "shared_bandwidth"):
            value = getattr(held, name)
            if value is not None:
                more: Buffer = replace(held, **{name: value * rng.choice((2, 3)) + rng.choice((0, 16))})
                levels = [*arch.levels]
                levels[index] = replace(where, buffers=(more,))
                yield f"{where.name} {name}", replace(arch, levels=tuple(levels))


def value(found: Evaluation, metric: str) -> float:
    return float(getattr(found, {"edp": "edp_pj_cycles", "energy": "energy_pj", "cycles": "cycles"}[metric]))


@pytest.mark.parametrize("seed", DESIGNS)
def test_case_26_a_larger_buffer_or_bandwidth_never_makes_the_best_mapping_worse(seed: int) -> None:
    rng = random.Random(seed)
    arch, (einsum, spread), metric = design(rng), LAYERS[seed % len(LAYERS)], METRICS[seed % len(METRICS)]
    before = value(search(einsum, arch, partitioning=spread, metric=metric, top=1)[0].evaluation, metric)
    for name, more in larger(arch, rng):
        after = value(search(einsum, more, partitioning=spread, metric=metric, top=1)[0].evaluation, metric)
        assert after <= before, f"more {name}: {metric} {before} -> {after}"


@pytest.mark.parametrize("seed", [0, 1])
def test_case_26_no_point_of_a_front_is_lost_to_a_larger_buffer_or_bandwidth(seed: int) -> None:
    rng = random.Random(100 + seed)
    arch, (einsum, spread) = design(rng), LAYERS[seed]
    before = [ranked.evaluation for ranked in search(einsum, arch, partitioning=spread, metric="pareto")]
    for name, more in larger(arch, rng):
        after = [ranked.evaluation for ranked in search(einsum, more, partitioning=spread, metric="pareto")]
        for point in before:
            near = [a for a in after if a.energy_pj <= point.energy_pj and a.cycles <= point.cycles]
            assert near, f"more {name}: nothing as good as {point.mapping}"


def test_case_26_in_a_row_of_ever_larger_buffers_the_best_mapping_only_gets_better() -> None:
    (einsum, spread), found = LAYERS[1], []
    for size in (8, 12, 20, 32, 48, 64, 100, 200):
        arch = machine(level("DRAM", pj=100.0), level("BUF", size, x=2, pj=2.0), level("RF", 4))
        found.append(search(einsum, arch, partitioning=spread, metric="energy", top=1)[0].evaluation.energy_pj)
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_case_26_half_of_the_bandwidth_of_dram_doubles_the_cycles_of_a_layer_that_waits_for_it() -> None:
    layer = Linear(name="fc", N=1, C=256, K=80)
    found = {}
    for bandwidth in (16.0, 8.0, 4.0, 2.0):
        best = search(layer, array(16, 16, 64, bandwidth), partitioning="CK", metric="cycles", top=1)[0].evaluation
        assert best.bound_by == "DRAM shared"
        found[bandwidth] = best.cycles
    # Every word crosses once: 256 x 80 weights, 256 inputs and 80 outputs.
    assert found == {bandwidth: (256 * 80 + 256 + 80) / bandwidth for bandwidth in found}


def test_case_26_of_a_given_mapping_too() -> None:
    layer, mapping = Linear(name="fc", N=1, C=256, K=80), "DRAM: K5 C16 | GLB: | X: C16 | Y: K16 | RF:"
    cycles = [evaluate(layer, array(16, 16, 64, shared), mapping).cycles for shared in (16.0, 8.0, 4.0, 2.0)]
    assert [later / earlier for earlier, later in itertools.pairwise(cycles)] == [2.0, 2.0, 2.0]


# 38: the same tables, limits that are obeyed, Ctrl-C ------------------------------------------------------------------

TABLES = ("mappings.csv", "breakdown.csv", "totals.csv")

USUAL = ("resnet18", "--layer", "fc", "--batch", "16", "--arch", "procrustes", "--partition", "KN,CK")


def test_case_38_the_same_inputs_give_the_same_bytes_whatever_the_processes(run_search: Search) -> None:
    manifests = []
    for folder, jobs in {"one": "1", "again": "1", "two": "2"}.items():
        assert run_search(*USUAL, "--layer", "layer4.0.down.0", "--output", folder, "-j", jobs).exit_code == 0
        manifest = json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))
        assert manifest.pop("wall_time_s") > 0
        assert manifest.pop("command")[-4:] == ["--output", folder, "-j", jobs]
        manifests.append(manifest)
    assert manifests[0] == manifests[1] == manifests[2]
    for name in TABLES:
        assert Path("one", name).read_bytes() == Path("again", name).read_bytes() == Path("two", name).read_bytes()


def test_case_38_a_front_has_the_same_bytes_whatever_the_processes(run_search: Search) -> None:
    tiny.write(Path())
    asked = ("net.yaml", "--batch", "4", "--arch", "toy.yaml", "--metric", "pareto", "--partition", "KN,CK")
    for folder, jobs in {"one": "1", "two": "2"}.items():
        assert run_search(*asked, "--output", folder, "-j", jobs).exit_code == 0
    for name in TABLES:
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_case_38_top_is_obeyed_and_a_longer_ranking_begins_with_the_shorter(run_search: Search) -> None:
    asked = ("resnet18:fc", "--arch", "procrustes", "--batch", "16", "--phase", "fw", "--partition", "KN")
    found = {}
    for top in ("1", "3", "12"):
        run_search(*asked, "--top", top, "--output", top)
        found[top] = [(row["rank"], row["mapping"]) for row in rows(Path(top, "mappings.csv"))]
    assert [len(found[top]) for top in found] == [1, 3, 12]
    assert found["12"][:3] == found["3"]
    assert found["3"][:1] == found["1"]


QUICK, HARD = ("quick1", "quick2"), 60

UNEQUAL = "name: unequal\nlayers:\n"
UNEQUAL += "".join(f"  - {{name: {name}, linear: {{C: 2, K: {2 + i}}}}}\n" for i, name in enumerate(QUICK))
UNEQUAL += "".join(
    f"  - {{name: hard{i}, conv: {{C: 96, K: {96 + 12 * i}, R: 3, S: 3, H: 56, W: 56, padding: 1}}}}\n"
    for i in range(HARD)
)
"""Two layers that are searched at once, and many that take far longer together than any test waits."""

LONG = ("search", "unequal.yaml", "--arch", "eyeriss", "--phase", "fw", "--partition", "any", "--output", "out")


def check_cut(found: list[dict[str, str]]) -> None:
    """Rows of the searches that ended stand proven; one that was cut is absent, or says how far it may be off."""
    assert [row["layer"] for row in found if row["optimal"] == "True"][:1] == [QUICK[0]]
    finished = {row["layer"] for row in found if row["optimal"] == "True"}
    assert set(QUICK) <= finished
    for row in found:
        gap = float(row["gap"])
        assert gap == 0.0 if row["optimal"] == "True" else 0.0 < gap <= 1.0
    ranks = [row["rank"] for row in found if row["layer"] == QUICK[0]]
    assert ranks == [str(rank) for rank in range(1, len(ranks) + 1)]
    assert len({row["layer"] for row in found}) < HARD


def _interruptible() -> None:
    """Take Ctrl-C again: a test run in the background of a shell ignores it, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def long_run(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a long search as a process of its own group, as a shell does; it and its workers end with the test."""
    (tmp_path / "unequal.yaml").write_text(UNEQUAL, encoding="utf-8")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from mapper.cli.main import main; main()", *LONG, *arguments]
        path = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=path,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
            preexec_fn=_interruptible,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_quick(process: subprocess.Popen[str]) -> None:
    """Until `-v` has said that the quick searches are done."""
    assert process.stderr is not None
    left = set(QUICK)
    for line in process.stderr:
        left -= {line.split()[0]}
        if not left:
            return
    raise AssertionError(f"ended before {left}")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_case_38_a_time_limit_is_obeyed_and_what_was_found_is_kept(
    tmp_path: Path, long_run: Callable[..., subprocess.Popen[str]], jobs: str
) -> None:
    begin = time.monotonic()
    # Worker processes need a second or two of it to start where the machine is slow or busy.
    process = long_run("-j", jobs, "--timeout", "8")
    _, errors = process.communicate(timeout=60)
    # Starting up, what a search does between two looks at the clock, and writing; far below the time of all searches.
    assert time.monotonic() - begin < 8 + 20
    assert process.returncode == 0
    assert re.search(r"^time limit reached: \d+ of 62 searches are finished; their tables are written$", errors, re.M)
    check_cut(rows(tmp_path / "out" / "mappings.csv"))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["problems"]["stopped"] == "time limit reached"


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
@pytest.mark.parametrize(("jobs", "seconds"), [("1", 0.0), ("1", 3.0), ("2", 1.0)])
def test_case_38_ctrl_c_keeps_what_is_finished(
    tmp_path: Path, long_run: Callable[..., subprocess.Popen[str]], jobs: str, seconds: float
) -> None:
    process = long_run("-j", jobs, "-v")
    wait_for_quick(process)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    kept = "their tables are written; --resume continues"
    assert re.search(rf"^interrupted: \d+ of 62 searches are finished; {kept}$", errors, re.M)
    assert "Traceback" not in errors
    assert "written to out: mappings.csv, breakdown.csv, totals.csv, manifest.json" in output
    check_cut(rows(tmp_path / "out" / "mappings.csv"))
    tables = {name: rows(tmp_path / "out" / name) for name in TABLES}
    assert all(tables.values())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["problems"]
    assert manifest["stopped"] == "interrupted"
    assert manifest["finished"] + len(manifest["unfinished"]) == len(QUICK) + HARD


@pytest.mark.parametrize(("offers", "kept"), [(1, True), (0, False)])
def test_case_38_ctrl_c_keeps_what_the_search_under_way_has_found(
    run_search: Search, monkeypatch: pytest.MonkeyPatch, offers: int, kept: bool
) -> None:
    """The second search is interrupted after it has found something, or before."""
    Path("two.yaml").write_text(
        "name: two\nlayers:\n  - {name: first, linear: {C: 4, K: 4}}\n  - {name: second, linear: {C: 640, K: 360}}\n"
        "  - {name: third, linear: {C: 4, K: 6}}\n",
        encoding="utf-8",
    )
    offer, met = Pool.offer, list[int]()

    def interrupted(pool: Pool, nests: Nests, *rest: Any) -> None:
        if nests.einsum.extent["C"] == 640:
            if len(met) == offers:
                raise KeyboardInterrupt
            met.append(len(nests))
        offer(pool, nests, *rest)

    monkeypatch.setattr(Pool, "offer", interrupted)
    asked = ("two.yaml", "--arch", "eyeriss", "--batch", "6", "--phase", "fw", "--partition", "any")
    result = run_search(*asked, "--top", "1", "--output", "out")
    assert result.exit_code == 130, result.output
    done = 1 + kept
    written = "their tables are written; --resume continues"
    assert result.stderr == f"interrupted: {done} of 3 searches are finished; {written}\n"
    found = {row["layer"]: row for row in rows("out/mappings.csv")}
    assert list(found) == ["first", "second"][:done]
    assert (found["first"]["optimal"], found["first"]["gap"]) == ("True", "0.0")
    if kept:
        assert found["second"]["optimal"] == "False"
        assert 0.0 < float(found["second"]["gap"]) <= 1.0
    assert not [row for row in found.values() if row["layer"] == "third"]


PEAK = """
import resource, sys
from mapper.cli.main import cli
status = 0
try:
    cli(sys.argv[1:], prog_name="mapper")
except SystemExit as ended:
    status = ended.code or 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("einsum", "arch", "partitioning"),
    [
        ("Z[M,N] += A[M,K] * B[K,N]; M=6144 N=6144 K=6144", "procrustes", "MN"),
        ("Z[M,N] += A[M,K] * B[K,N]; M=6144 N=64 K=1024", "procrustes", "any"),
        ("O[K,P] += W[K,C,R] * I[C,P+R]; K=64 C=32 P=6144 R=3", "procrustes", "PK"),
    ],
)
def test_case_38_a_dimension_of_6144_stays_under_1_gb(
    tmp_path: Path, einsum: str, arch: str, partitioning: str
) -> None:
    asked = ["search", einsum, "--arch", arch, "--partition", partitioning, "-j", "1", "--output", "out"]
    command = [sys.executable, "-c", PEAK, *asked]
    path = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stderr.split()[-1]) * unit < 10**9
    assert {row["optimal"] for row in rows(tmp_path / "out" / "mappings.csv")} == {"True"}
