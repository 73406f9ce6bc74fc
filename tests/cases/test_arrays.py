"""Field cases 10 and 12 to 16: arrays that a layer fills, leaves idle or does not fit on."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mapper.arch import load_arch
from mapper.cli.main import cli
from mapper.cost import Evaluation, evaluate
from mapper.errors import InputError, MappingError
from mapper.search.run import search
from mapper.workload import Conv2d, Einsum, Layer
from tests.machines import array, level, machine

SPEC = """\
name: small
bits: {default: 16}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {read: 200, write: 200, source: by hand}
  - name: GLB
    capacity_kib: 64
    energy_pj_per_word: {read: 6, write: 6, source: by hand}
    fanout: {x: 14, y: 12}
  - name: RF
    capacity_words: 64
    energy_pj_per_word: {read: 1, write: 1, source: by hand}
compute: {energy_pj: 1, source: by hand}
"""


def pointwise(C: int, K: int) -> Conv2d:
    return Conv2d(C=C, K=K, R=1, S=1, P=4, Q=4)


def explained(folder: Path, layer: str, spec: str, mapping: str) -> str:
    """What `explain` prints, on one line."""
    (folder / "small.yaml").write_text(spec, encoding="utf-8")
    arguments = ["explain", layer, "--arch", str(folder / "small.yaml"), "--mapping", mapping]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


# 10, 12: lanes that a layer leaves ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lanes", "mapping", "used"),
    [
        ((14, 12), "GLB: P4 | X: M12 | Y: S11", 132),
        ((12, 14), "GLB: P4 | X: M12 | Y: S11", 132),
        ((14, 12), "GLB: P4 S11 | X: M12", 12),
        ((14, 12), "GLB: P4 | X: S11 | Y: M12", 132),
    ],
)
def test_case_10_m12_by_s11_use_132_of_168_compute_units(lanes: tuple[int, int], mapping: str, used: int) -> None:
    conv = Einsum.parse("O[M,P] += W[M,S] * I[P+S]; M=12 S=11 P=4")
    found = evaluate(conv, array(*lanes), mapping)
    assert found.accelerator.pes == 168
    assert found.utilization == used / 168
    if used == 132:
        assert found.cycles == 4
        assert round(100 * found.utilization, 2) == 78.57


@pytest.mark.parametrize(
    ("bound", "lanes", "rounds", "slots"),
    [(7, 4, 2, 8), (7, 3, 3, 9), (1000, 16, 63, 1008), (5, 4, 2, 8), (8, 4, 2, 8)],
)
def test_case_12_what_does_not_divide_takes_rounds_and_leaves_slots(
    bound: int, lanes: int, rounds: int, slots: int
) -> None:
    einsum = Einsum.parse("O[P] += W[R] * I[P+R]", P=bound, R=3)
    for axis in ("X", "Y"):
        on = array(lanes, 1) if axis == "X" else array(1, lanes)
        found = evaluate(einsum, on, f"DRAM: P{rounds} | GLB: | {axis}: P{lanes} | RF: R3")
        assert found.macs == found.points == 3 * bound
        assert found.cycles == 3 * rounds
        assert found.utilization == bound / slots


def test_case_12_seven_on_four_lanes_fill_87_5_percent_and_explain_says_so(tmp_path: Path) -> None:
    einsum = Einsum.parse("O[P] += W[] * I[P]; P=7")
    found = evaluate(einsum, array(4, 1), "DRAM: P2 | GLB: | X: P4")
    assert (found.cycles, found.macs, found.utilization) == (2, 7, 0.875)
    spec = SPEC.replace("{x: 14, y: 12}", "{x: 4}")
    printed = explained(tmp_path, einsum.text, spec, "DRAM: P2 | GLB: | X: P4")
    assert "7 tiles on 4 lanes: 2 rounds, 7 of 8 slots" in printed
    assert "87.5 %" in printed


# 13: more lanes than the axis has -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loops", "axis", "text"),
    [
        ("X: K28", "X", "K28 do not fit: 28 > 16"),
        ("Y: K28", "Y", "K28 do not fit: 28 > 16"),
        ("X: C7 K4", "X", "C7 x K4 do not fit: 28 > 16"),
        ("X: K4 | Y: C7 K4", "Y", "C7 x K4 do not fit: 28 > 16"),
        ("X: K17", "X", "K17 do not fit: 17 > 16"),
    ],
)
def test_case_13_a_spread_wider_than_the_axis_names_level_axis_and_factors(loops: str, axis: str, text: str) -> None:
    einsum = Einsum.parse("O[K] += W[K,C] * I[C]; K=28 C=7")
    with pytest.raises(MappingError) as caught:
        evaluate(einsum, array(16, 16), f"DRAM: | GLB: | {loops}")
    assert str(caught.value) == (f"level GLB, axis {axis}: spatial factors {text} (at most 16 lanes on this axis)")


def test_case_13_the_second_fanout_is_the_one_named() -> None:
    two = machine(level("DRAM", x=64), level("GLB", x=16), level("RF"))
    with pytest.raises(MappingError, match=r"^level GLB, axis X: .*28 > 16"):
        evaluate(Einsum.parse("O[K] += W[K] * I[]; K=28"), two, "DRAM: | GLB: | X: K28")
    assert evaluate(Einsum.parse("O[K] += W[K] * I[]; K=28"), two, "DRAM: | X: K28").cycles == 1


# 14, 15: the best that a spread can do --------------------------------------------------------------------------------


def best(layer: Layer, lanes: int, spread: str) -> Evaluation:
    return search(layer, array(lanes, lanes), partitioning=spread, metric="cycles", top=1)[0].evaluation


@pytest.mark.parametrize(
    "mapping", ["DRAM: P4 Q4 | GLB: | X: C128 | Y: K128", "DRAM: P4 Q4 | GLB: | X: K128 | Y: C128"]
)
def test_case_14_128_channels_fill_at_most_40_96_percent_of_200_by_200(mapping: str) -> None:
    found = evaluate(pointwise(128, 128), array(200, 200), mapping)
    assert found.utilization == 128 * 128 / 40_000 == 0.4096
    assert found.cycles == 16


@pytest.mark.parametrize(("spread", "limit"), [("CK", 0.4096), ("KC", 0.4096), ("KP", 128 * 4 / 40_000)])
def test_case_14_search_fills_what_the_layer_can_and_no_more(spread: str, limit: float) -> None:
    result = search(pointwise(128, 128), array(200, 200), partitioning=spread, metric="cycles", top=3)
    assert result[0].evaluation.utilization == limit
    assert all(ranked.evaluation.utilization <= limit for ranked in result)


def test_case_14_explain_says_which_axis_is_longer_than_the_work(tmp_path: Path) -> None:
    einsum = "O[K] += W[K,C] * I[C]; K=128 C=128"
    both = explained(tmp_path, einsum, SPEC.replace("14, y: 12", "200, y: 200"), "DRAM: | GLB: | X: C128 | Y: K128")
    assert "lanes of X below GLB C128 on 200 lanes: the axis is longer than the work, C ends at 128" in both
    assert "lanes of Y below GLB K128 on 200 lanes: the axis is longer than the work, K ends at 128" in both
    short = explained(tmp_path, einsum, SPEC.replace("14, y: 12", "200, y: 128"), "DRAM: | GLB: | X: C128 | Y: K128")
    assert "X below GLB C128 on 200 lanes: the axis is longer than the work, C ends at 128" in short
    assert "Y below GLB K128 on 128 lanes" in short
    assert "K ends at" not in short
    half = explained(tmp_path, einsum, SPEC.replace("14, y: 12", "200, y: 128"), "DRAM: K2 | GLB: | X: C128 | Y: K64")
    assert "Y below GLB K64 on 128 lanes: the mapping leaves 64 free, K has 128" in half


@pytest.mark.parametrize(("size", "utilization"), [(2, 0.015625), (1, 0.00390625), (4, 0.0625), (16, 1.0), (32, 1.0)])
def test_case_15_a_small_plane_starves_a_16_by_16_array(size: int, utilization: float) -> None:
    layer = Conv2d(C=8, K=8, R=1, S=1, P=size, Q=size)
    lanes = min(size, 16)
    outer = f"P{size // lanes} Q{size // lanes}"
    found = evaluate(layer, array(16, 16), f"DRAM: C8 K8 {outer} | GLB: | X: P{lanes} | Y: Q{lanes}")
    assert found.utilization == utilization
    assert best(layer, 16, "PQ").utilization == utilization


def test_case_15_channels_of_512_by_512_fill_it() -> None:
    layer = Conv2d(C=512, K=512, R=1, S=1, P=2, Q=2)
    found = evaluate(layer, array(16, 16), "DRAM: C32 K32 P2 Q2 | GLB: | X: C16 | Y: K16")
    assert found.utilization == 1.0
    assert best(layer, 16, "CK").utilization == 1.0


# 16: sizes that contradict each other ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{x: 14, y: 12}", "{x: 14, y: 12, pes: 170}",
         "10: levels.GLB.fanout.pes: 170, but x * y is 14 * 12 = 168 (pes: 168)"),
        ("capacity_words: 64", "capacity_words: 64\n    instances: 100",
         "13: levels.RF.instances: 100, but the fan-outs above (DRAM 1 x 1, GLB 14 x 12) give 168 (instances: 168)"),
        ("compute: {", "compute: {instances: 336, ",
         "14: compute.instances: 336, but the fan-outs above (DRAM 1 x 1, GLB 14 x 12, RF 1 x 1) give 168 "
         "(instances: 168)"),
        ("compute: {", "compute: {instances: 250, ",
         "14: compute.instances: 250, but the fan-outs above (DRAM 1 x 1, GLB 14 x 12, RF 1 x 1) give 168, and 168 "
         "parents do not divide 250 (instances: 168)"),
    ],
)  # fmt: skip
def test_case_16_compute_units_and_instances_that_do_not_multiply_are_one_error(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SPEC.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_arch(path)
    assert str(caught.value) == f"{path}:{message}"


def test_case_16_sizes_that_agree_load(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SPEC.replace("y: 12}", "y: 12, pes: 168}").replace("compute: {", "compute: {instances: 168, "))
    assert load_arch(path).pes == 168
