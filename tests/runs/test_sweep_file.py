"""The file of a sweep: which points it has, and every refusal with the line at fault."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

from mapper.arch import load_arch
from mapper.errors import InputError, MapperWarning
from mapper.report import check_axes
from mapper.report.sweep_tables import failed_table, points_table, sweep_mappings_table
from mapper.runs.solving import How
from mapper.runs.sweep import Sweep, load_sweep, sweep
from mapper.runs.sweep_file import Value
from mapper.runs.sweep_template import sweep_template
from mapper.sparsity import asked
from mapper.sparsity.density import Dispersed, Structured, Uniform
from mapper.sparsity.masks import load_masks
from tests import tiny

HEAD = "network: net.yaml\narch: toy.yaml\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)


def loaded(text: str, head: str = HEAD) -> Sweep:
    Path("s.yaml").write_text(head + text, encoding="utf-8")
    found = load_sweep("s.yaml")
    check_axes(found)
    return found


def names(found: Sweep) -> list[tuple[Value, ...]]:
    return [tuple(value for _, value in point.names) for point in found.points]


# Points ---------------------------------------------------------------------------------------------------------------


def test_a_sweep_without_axes_is_one_search() -> None:
    found = loaded("batch: 2\nphase: fw\npartition: KN,CN\ntop: 2\n")
    assert (found.name, found.axes, str(found.points[0])) == ("s", (), "toy")
    assert [point.plan for point in found.points] == [tiny.plan(Path())]


def test_a_grid_is_every_combination_with_the_last_axis_fastest() -> None:
    found = loaded("grid:\n  array: [1x2, 2x2]\n  batch: [1, 2, 4]\n")
    assert found.axes == ("array", "batch")
    assert names(found) == [(a, b) for a in ("1x2", "2x2") for b in (1, 2, 4)]
    assert [(p.plan.accelerator.pes, p.plan.network.batch) for p in found.points] == [
        *((2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4)),
    ]
    assert str(found.points[1]) == "array=1x2 batch=2"


@pytest.mark.filterwarnings("ignore::mapper.errors.MapperWarning")
def test_points_stand_before_the_grid_and_need_not_vary_the_same() -> None:
    text = "grid: {batch: [1, 2]}\npoints:\n  - {density: 0.5}\n  - {RF.capacity_words: 16, density: 1}\n"
    found = loaded(text)
    assert found.axes == ("density", "RF.capacity_words", "batch")
    assert [str(point) for point in found.points] == [
        "density=0.5 batch=1",
        "density=0.5 batch=2",
        "RF.capacity_words=16 density=1 batch=1",
        "RF.capacity_words=16 density=1 batch=2",
    ]
    assert found.points[0].plan.accelerator == load_arch("toy.yaml")
    assert found.points[3].plan.accelerator == load_arch("toy.yaml", {"RF.capacity_words": 16})


def test_what_varies_stands_first_in_every_table_also_where_a_point_lacks_it() -> None:
    text = "phase: fw\nset: {RF.capacity_bits: 30, bits.W: 32, bits.default: 8}\npartition: KN\npoints:\n"
    text = f"{text}  - {{array: 1x2}}\n  - {{layers: last}}\n  - {{bits.I: 16, array: 2x2}}\n"
    found = sweep(loaded(text.replace("layers: last", "DRAM.area_um2: 2")), How())
    tables = points_table(found), failed_table(found)
    for table in tables:
        assert table.columns[:3] == ("array", "DRAM.area_um2", "bits.I")
        assert all(tuple(row) == table.columns for row in table.rows)
        assert {tuple(row.values())[:3] for row in table.rows} == {
            *(("1x2", None, None), (None, 2, None), ("2x2", None, 16)),
        }
    assert sweep_mappings_table(found).columns[:5] == (*tables[0].columns[:3], "network", "layer")


def test_settings_that_are_lists_vary_by_name() -> None:
    found = loaded("grid: {step: {inference: {phase: fw}, training: {phase: [fw, wu]}}}\n")
    assert names(found) == [("inference",), ("training",)]
    assert [tuple(map(str, point.plan.phases)) for point in found.points] == [("fw",), ("fw", "wu")]


@pytest.mark.filterwarnings("ignore::mapper.errors.MapperWarning")
def test_several_keys_at_once_have_one_name() -> None:
    found = loaded(
        "grid:\n  memory:\n    small: {RF.capacity_words: 4, density: 0.5}\n    'the large': {RF.capacity_words: 64}\n"
    )
    assert (found.axes, names(found)) == (("memory",), [("small",), ("the large",)])
    small, large = (point.plan for point in found.points)
    assert [small.accelerator, large.accelerator] == [
        load_arch("toy.yaml", {"RF.capacity_words": words}) for words in (4, 64)
    ]
    assert (small.zeros.dense, large.zeros.dense) == (False, True)


@pytest.mark.filterwarnings("ignore::mapper.errors.MapperWarning")
def test_what_varies_goes_before_what_is_set_and_that_before_the_file() -> None:
    text = "batch: 4\ndensity: 0.5\nset: {RF.capacity_words: 16, name: mine}\npoints:\n"
    first, second = loaded(f"{text}  - {{RF.capacity_words: 32, batch: 1}}\n  - {{density: 1}}\n").points
    assert first.plan.accelerator == load_arch("toy.yaml", {"RF.capacity_words": 32, "name": "mine"})
    assert second.plan.accelerator == load_arch("toy.yaml", {"RF.capacity_words": 16, "name": "mine"})
    assert (first.plan.network.batch, second.plan.network.batch) == (1, 4)
    assert (first.plan.zeros.dense, second.plan.zeros.dense) == (False, False)


@pytest.mark.parametrize("text", ["partition: [KN, CN]\n", "partition: KN,CN\n", "grid:\n  partition: [KN, CN]\n"])
def test_partitionings_are_beside_each_other_in_a_point_also_in_the_grid(text: str) -> None:
    found = loaded(text)
    assert (len(found.points), found.axes) == (1, ())
    assert [each.name for each in found.points[0].plan.partitionings] == ["KN", "CN"]


def test_a_point_may_have_a_partitioning_of_its_own() -> None:
    found = loaded("partition: CN\npoints: [{partition: KN}, {partition: 'KN,CN'}, {batch: 2}]\n")
    assert [[each.name for each in point.plan.partitionings] for point in found.points] == [
        ["KN"],
        ["KN", "CN"],
        ["CN"],
    ]


def test_lists_of_layers_and_phases_hold_for_every_point() -> None:
    found = loaded("layers: [last, twin]\nphase: [wu, forward]\n")
    assert found.points[0].plan.network.layer_names == ("twin", "last")
    assert [str(phase) for phase in found.points[0].plan.phases] == ["fw", "wu"]
    assert loaded("layers: last\nphase: fw,bw\n").points[0].plan.network.layer_names == ("last",)


def test_values_are_taken_as_the_command_line_takes_them() -> None:
    found = loaded("layers: [last]\ngrid:\n  density: [2:4, 1e-3, 10%, 0.5~0.01, 1]\n  balance: [none, ideal]\n")
    assert names(found)[::2] == [(value, "none") for value in ("2:4", 0.001, "10%", "0.5~0.01", 1)]
    weights = [dict(point.plan.zeros.densities)["W", ""] for point in found.points[::2]]
    assert weights == [Structured(2, 4), Uniform(0.001), Uniform(0.1), Dispersed(0.5, 0.01), Uniform(1.0)]
    assert [point.plan.zeros.balance for point in found.points[:2]] == ["none", "ideal"]


def test_networks_are_what_a_search_takes() -> None:
    einsum = "Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4"
    found = loaded(f'grid:\n  network: [net.yaml, "net.yaml:last", "{einsum}", resnet18:fc]\n', "arch: toy.yaml\n")
    assert [len(point.plan.network) for point in found.points] == [3, 1, 1, 1]
    assert found.given == (
        *(("network", text) for text in ("net.yaml", "net.yaml:last", einsum, "resnet18:fc")),
        ("arch", "toy.yaml"),
    )


def test_points_share_what_is_equal() -> None:
    found = loaded("grid:\n  array: [1x2, 2x2]\n  density: [0.5, 1]\n  top: [1, 2]\n")
    plans = [point.plan for point in found.points]
    assert len({id(plan.network) for plan in plans}) == 1
    assert len({id(plan.accelerator) for plan in plans}) == 2
    assert len({id(plan.zeros) for plan in plans}) == 2


def test_masks_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez("m.npz", first=np.eye(2, 4), twin=np.eye(2, 4), last=np.eye(2))
    calls = itertools.count()
    monkeypatch.setattr(asked, "load_masks", lambda *given, **named: (next(calls), load_masks(*given, **named))[1])
    found = loaded("masks: m.npz\ngrid: {array: [1x2, 2x2, 1x1]}\n")
    assert next(calls) == 1
    assert found.given == (("network", "net.yaml"), ("arch", "toy.yaml"), ("masks", "m.npz"))


def test_the_template_is_a_sweep() -> None:
    found = loaded(sweep_template("mine"), head="")
    assert (found.axes, len(found.points), len(found.points[0].plan.partitionings)) == (
        ("array", "density", "buffer"),
        8,
        2,
    )


# Work -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("grid: {array: [1x2, 2x2], DRAM.area_um2: [8, 16], metric: [edp, energy], balance: [none, ideal]}\n", 1),
        ("points: [{batch: 1}, {array: 2x2}, {phase: 'fw,bw,wu'}, {density: 1}]\n", 1),
        ("grid: {density: [0.5, 50%], balance: [none, ideal]}\n", 1),
        ("grid: {density: [0.5, 1], batch: [1, 2], array: [1x2, 2x2]}\n", 4),
        ("grid: {kind: {sparse: {density: 0.5}, dense: {array: 1x2}}}\n", 2),
        ("grid: {kind: {a: {density: 0.5, array: 1x2}, b: {array: 2x2, density: 0.5}}}\n", 1),
        ("points: [{layers: last}, {layers: first}, {network: 'net.yaml:last'}]\n", 3),
        ("points: [{activation_density: 0.5}, {gradient_density: 0.5}, {array: 2x2}]\n", 3),
    ],
)
def test_points_of_other_work_do_not_compete_by_whatever_name_it_goes(text: str, pieces: int) -> None:
    Path("s.yaml").write_text(HEAD + text, encoding="utf-8")
    assert len({point.work for point in load_sweep("s.yaml").points}) == pieces


# Refusals -------------------------------------------------------------------------------------------------------------

HUGE = ", ".join(str(i) for i in range(1, 401))

REFUSED = {
    "unknown key": ("colour: red\n", 3, "colour: unknown key (one of: network, arch, batch, "),
    "misspelt": ("densty: 0.1\n", 3, "densty: unknown key (did you mean 'density'?)"),
    "misspelt in grid": ("grid:\n  densty: [0.1]\n", 4, "densty: unknown key (did you mean 'density'?)"),
    "misspelt in a point": ("points: [{batc: 1}]\n", 3, "batc: unknown key (did you mean 'batch'?)"),
    "misspelt at once": ("grid:\n  m:\n    a: {densty: 0.1}\n", 5, "densty: unknown key (did you mean 'density'?)"),
    "no level": ("grid:\n  GLB.capacity_kib: [1]\n", 4, "GLB.capacity_kib: neither a level nor a key of an accel"),
    "no key": ("grid:\n  foo: [1]\n", 4, "foo: neither a level nor a key of an accelerator (one of: array, MAC, DRAM"),
    "no key of a level": ("set:\n  RF.capcity: 1\n", 4, "levels.RF.capcity: unknown key (did you mean 'capacity"),
    "array beside set": ("array: 2x2\n", 3, "array: unknown key (set: {array: ...})"),
    "change beside set": ("RF.capacity_words: 3\n", 3, "RF.capacity_words: unknown key (set: {RF.capacity_words: .."),
    "setting in set": ("set: {batch: 4}\n", 3, "batch: a setting, not a key of the accelerator's file (batch: besi"),
    "empty list": ("grid:\n  density: []\n", 4, "density: expected a list of values, found an empty list"),
    "empty mapping": ("grid:\n  m: {}\n", 4, "m: expected a list of values, found an empty mapping"),
    "one value": ("grid:\n  density: 0.1\n", 4, "density: expected a list of values, found 0.1 ([8x8, 16x16])"),
    "no value": ("grid:\n  density:\n", 4, "density: expected a list of values, found nothing"),
    "empty partition": ("grid:\n  partition: []\n", 4, "partition: expected one value, found an empty list"),
    "named partition": ("grid:\n  partition: {a: KN}\n", 4, "partition: expected one value, found a mapping"),
    "twice": ("grid:\n  density:\n    - 0.5\n    - 0.25\n    - 0.5\n", 7, "density: 0.5 is given twice"),
    "twice as text": ("grid:\n  density: [0.5, '0.5']\n", 4, "density: '0.5' is given twice"),
    "twice as float": ("grid:\n  batch: [1, 1.0]\n", 4, "batch: 1.0 is given twice"),
    "twice as bool": ("grid:\n  batch: [1, true]\n", 4, "batch: true is given twice"),
    "point twice": ("points:\n  - {density: 0.1, batch: 2}\n  - {batch: 2, density: 0.1}\n", 5, "this point is given"),
    "varied twice": (
        "grid:\n  density: [0.5]\n  m:\n    a: {density: 0.1}\n",
        6,
        "density: varied here and on line 4 (vary it once)",
    ),
    "varied in points": ("grid:\n  batch: [5]\npoints: [{batch: 1}]\n", 4, "batch: varied here and on line 5 (vary it"),
    "partition in points": (
        "grid:\n  partition: [KN]\npoints: [{partition: CN}]\n",
        4,
        "partition: varied here and on",
    ),
    "name in points": ("grid:\n  batch: {a: {top: 1}}\npoints: [{batch: 1}]\n", 4, "batch: varied here and on line 5"),
    "nested": ("grid:\n  density: [0.1, [0.5]]\n", 4, "density: expected one value, found a list (grid: {density: [.."),
    "mapping": ("grid:\n  density: [{a: 1}]\n", 4, "density: expected one value, found a mapping"),
    "list": (
        "density: [0.1, 0.5]\n",
        3,
        "density: expected one value, found a list (grid: {density: [...]} varies it)",
    ),
    "list in a point": ("points: [{density: [0.1]}]\n", 3, "density: expected one value, found a list"),
    "list at once": ("grid:\n  m: {a: {batch: [1]}}\n", 4, "batch: expected one value, found a list"),
    "null": ("density:\n", 3, "density: expected one value, found nothing"),
    "null in a list": ("grid: {density: [~]}\n", 3, "density: expected one value, found nothing"),
    "bool batch": ("batch: true\n", 3, "batch: expected a number of 1 or more, found true"),
    "batch 0": ("grid:\n  batch: [1, 0]\n", 4, "batch: expected a number of 1 or more, found 0"),
    "batch -1": ("batch: -1\n", 3, "batch: expected a number of 1 or more, found -1"),
    "batch 1.5": ("batch: 1.5\n", 3, "batch: expected a number of 1 or more, found 1.5"),
    "batch of text": ("batch: many\n", 3, "batch: expected a number of 1 or more, found 'many'"),
    "batch too large": ("batch: 99999999999999\n", 1, "network: net.yaml: batch is 99,999,999,999,999 (at most "),
    "top 0": ("top: 0\n", 3, "top: expected a number of 1 to 1,000, found 0"),
    "top too large": ("top: 1000000000\n", 3, "top: expected a number of 1 to 1,000, found 1000000000"),
    "no density": ("grid:\n  density: [0.5, 1.5]\n", 4, "density: '1.5' is no density"),
    "nan": ("grid:\n  density: [.nan]\n", 4, "density: 'nan' is no density"),
    "no activation density": ("activation_density: 2\n", 3, "activation_density: '2' is no density"),
    "no gradient density": ("points: [{gradient_density: -1}]\n", 3, "gradient_density: '-1' is no density"),
    "density file": ("density: none.yaml\n", 3, "density: no such file"),
    "masks": ("masks: none.npz\n", 3, "masks: no such file or folder"),
    "balance": ("balance: hlf_tile\n", 3, "balance: no balancing 'hlf_tile' (did you mean 'half_tile'?)"),
    "partition": ("grid:\n  partition: [KN, XY]\n", 4, "partition: partitioning 'XY': no dimension 'X'"),
    "metric": ("metric: edpp\n", 3, "metric: no metric 'edpp' (did you mean 'edp'?)"),
    "phase": ("phase: forwrd\n", 3, "phase: no phase 'forwrd' (did you mean 'forward'?)"),
    "no such phase": ("layers: [first]\nphase: bw\n", 1, "network: no layer of 'net' has a phase bw"),
    "layer": ("layers: [frst]\n", 3, "layers: network 'net' has no layer 'frst' (did you mean 'first'?)"),
    "array": ("grid:\n  array: [2x2, big]\n", 4, "array: expected lanes of X and Y, found 'big' (16x16)"),
    "nan in a change": ("set: {RF.capacity_words: .nan}\n", 3, "levels.RF.capacity_words: expected a whole number, fo"),
    "no grid": ("grid:\n", 3, "grid: expected a mapping, found nothing (key: value)"),
    "list of a grid": ("grid: [1]\n", 3, "grid: expected a mapping, found a list"),
    "empty set": ("set: {}\n", 3, "set: expected a mapping, found an empty mapping"),
    "no points": ("points: []\n", 3, "points: expected a list of points (- {density: 0.1})"),
    "points of a mapping": ("points: {density: 1}\n", 3, "points: expected a list of points"),
    "empty point": ("points:\n  - {batch: 1}\n  - {}\n", 5, "a point: expected a mapping, found an empty mapping"),
    "word for a point": ("points: [half]\n", 3, "a point: expected a mapping, found 'half'"),
    "word at once": ("grid:\n  m: {a: 1}\n", 4, "m.a: expected a mapping, found 1"),
    "too many": (
        f"grid:\n  batch: [{HUGE}]\n  top: [{HUGE}]\n",
        3,
        "160,000 points, more than 100,000 (several files)",
    ),
    "column": ("grid:\n  m: {a: {top: 1}}\n  cycles: {a: {batch: 1}}\n", 5, "what varies is called 'cycles', as a col"),
    "setting as column": (
        "grid:\n  phase: [fw, bw]\n",
        4,
        "what varies is called 'phase', as a column of the tables (phase_choice: {a: {phase: ...}, b: ...})",
    ),
    "YAML": ("grid: [\n", 3, "not YAML: "),
    "key twice": ("batch: 1\nbatch: 2\n", 4, "key 'batch' is given twice, on lines 3 and 4"),
    "tag": ("density: !!python/object:os.system 1\n", 3, "tag 'tag:yaml.org,2002:python/object:os.system' is refused"),
    "arch": ("grid:\n  arch: [toy.yaml, procrustis]\n", 4, "arch: no accelerator 'procrustis' ships, and there is no"),
    "network": ("grid:\n  network: [resnet19]\n", 4, "network: no network 'resnet19' ships, and there is no such fi"),
    "network file": ("points: [{network: nix.yaml}]\n", 3, "network: no such file (did you mean 'mixed.yaml'?)"),
}


@pytest.mark.parametrize(("text", "line", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_is_wrong_is_one_error_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(text)
    assert str(caught.value).startswith(f"s.yaml:{line}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: the file is empty"),
        ("[1]\n", "s.yaml:1: a sweep: expected a mapping, found a list (key: value)"),
        ("hello\n", "s.yaml:1: a sweep: expected a mapping, found 'hello' (key: value)"),
        ("arch: toy.yaml\n", "s.yaml:1: network: is missing (network: resnet18)"),
        ("network: net.yaml\ngrid: {batch: [1]}\n", "s.yaml:1: arch: is missing (arch: procrustes)"),
    ],
)
def test_a_file_that_is_no_sweep_is_one_error(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(text, head="")
    assert str(caught.value) == message


def test_a_network_that_is_wrong_says_so_at_its_own_line() -> None:
    Path("net.yaml").write_text(tiny.NETWORK.replace("repeat: 3", "repeat: 0"), encoding="utf-8")
    with pytest.raises(InputError, match=r"^net.yaml:4: "):
        loaded("")


def test_a_file_that_is_not_there_is_one_error() -> None:
    with pytest.raises(InputError, match=r"^t.yaml: no such file \(did you mean '"):
        load_sweep("t.yaml")


def test_every_column_of_the_tables_is_refused_as_a_name() -> None:
    """Whatever a column is called, what varies cannot take its place."""
    found = sweep(loaded("phase: fw\npartition: KN\n"), How())
    columns = {
        c for table in (points_table(found), sweep_mappings_table(found), failed_table(found)) for c in table.columns
    }
    assert len(columns) > 50
    for column in sorted(columns - {"arch", "network"}):
        with pytest.raises(InputError, match=f"what varies is called '{column}'"):
            loaded(f"grid:\n  {column}: {{a: {{batch: 1}}}}\n")
    for column in ("arch", "network"):
        assert loaded(f"grid:\n  {column}: {{a: {{batch: 1}}}}\n").axes == (column,)


# Warnings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "grid:\n  RF.capacity_words: [8, 16]\n",
        "points:\n- {batch: 2}\n- {RF.capacity_words: 16}\n",
        "set: {DRAM.energy_pj_per_word.read: 90}\ngrid:\n  RF.capacity_words: [8, 16]\n",
    ],
)
def test_sizes_that_vary_under_one_energy_are_a_warning_with_the_line(text: str) -> None:
    line = len(HEAD.splitlines()) + len(text.splitlines())
    message = f"^s.yaml:{line}: RF.capacity_words varies, and the energies of RF stay those of the accelerator's file$"
    with pytest.warns(MapperWarning, match=message):
        loaded(text)


@pytest.mark.parametrize(
    "text",
    [
        "set: {RF.capacity_words: 8}\n",
        "grid:\n  RF.capacity_words: [8]\n",
        "grid:\n  m:\n    a: {RF.capacity_words: 8}\n    b: {RF.capacity_words: 4, RF.energy_pj_per_word.read: 1}\n",
    ],
)
def test_sizes_with_their_energies_are_no_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded(text)
