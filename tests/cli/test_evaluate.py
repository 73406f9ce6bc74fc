"""`mapper evaluate`: a user gives a mapping and reads every count."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from mapper.cost import evaluate
from mapper.mapping import nest_to_yaml, parse_nest
from mapper.workload import Einsum
from tests.cli.shown import ARCH, GEMM, MAPPING, golden, mapper

pytestmark = pytest.mark.usefixtures("folder")

TOO_LARGE = "GLB: K64 C3 P112 Q112 R7 S7"


def test_every_count_of_a_small_mapping_is_printed() -> None:
    result = mapper("evaluate", GEMM, "--arch", ARCH, "--mapping", MAPPING)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == golden("evaluate.txt")


def test_a_mapping_in_a_yaml_file_gives_what_its_text_gives() -> None:
    Path("m.yaml").write_text(nest_to_yaml(parse_nest(MAPPING)), encoding="utf-8")
    results = [mapper("evaluate", GEMM, "--arch", ARCH, "--mapping", m) for m in (MAPPING, "m.yaml")]
    assert results[0].stdout == results[1].stdout


def test_csv_has_one_row_per_figure_with_integers_whole() -> None:
    result = mapper("evaluate", GEMM, "--arch", ARCH, "--mapping", MAPPING, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    figures = {(r["component"], r["tensor"], r["figure"]): r["value"] for r in rows}
    assert len(figures) == len(rows)
    assert figures["", "", "cycles"] == "16"
    assert figures["GLB", "Z", "updates_words"] == "32"
    assert figures["GLB", "Z", "updates_bits"] == "1024"
    found = evaluate(Einsum.parse(GEMM), ARCH, MAPPING)
    for item in found.items:
        if item.tensor:
            assert figures[item.component, item.tensor, f"{item.action}_words"] == str(item.count)


def test_json_says_the_same_as_csv() -> None:
    result = mapper("evaluate", GEMM, "--arch", ARCH, "--mapping", MAPPING, "--format", "json")
    document = json.loads(result.stdout)
    assert (document["cycles"], document["bound_by"], document["fits"]) == (16, "compute", True)
    assert document["components"]["GLB"]["Z"]["updates_words"] == 32
    assert document["components"]["compute"][""]["bound_cycles"] == 16


def test_tiles_that_do_not_fit_are_printed_and_then_refused_with_what_would_fit() -> None:
    result = mapper("evaluate", "resnet18:conv1", "--arch", "procrustes", "--mapping", TOO_LARGE)
    assert result.exit_code == 1
    assert "2958.8 %" in result.stdout
    assert result.stderr == (
        "error: the tiles do not fit GLB: 31,025,504 bits (W 301,056, I 5,034,336, O 25,690,112) in 1,048,576 "
        "(a capacity of 31,025,504 bits, 3,787.3 KiB, would fit)\n"
    )


def test_json_stays_json_where_the_tiles_do_not_fit() -> None:
    arguments = ("evaluate", "resnet18:conv1", "--arch", "procrustes", "--mapping", TOO_LARGE, "--format", "json")
    result = mapper(*arguments)
    assert (result.exit_code, json.loads(result.stdout)["fits"]) == (1, False)


def test_padding_is_reported_beside_the_words_that_dram_reads() -> None:
    result = mapper("evaluate", "resnet18:conv1", "--arch", "procrustes", "--mapping", TOO_LARGE)
    assert "6,795 of the 157,323 words of I are padding, which is not stored" in result.stdout
    assert "  DRAM   I           150,528 " in result.stdout


def test_a_part_of_a_phase_is_chosen_by_its_number_or_label() -> None:
    mapping = "DRAM: N1 K128 C64 P28 Q28 R2"
    outputs = {
        mapper(
            *("evaluate", "resnet18:layer2.0.conv1", "--arch", "procrustes", "--phase", "dgrad"),
            *("--part", part, "--mapping", mapping, "--batch", "1"),
        ).stdout
        for part in ("2", "2/4")
    }
    assert len(outputs) == 1
    assert "bw 2/4" in outputs.pop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GEMM, "--mapping", "nope.yaml"), "error: nope.yaml: no such file"),
        ((GEMM, "--mapping", "DRAM K2"), "error: mapping:1: 'DRAM K2' is not a level"),
        ((GEMM, "--mapping", "DRAM: C2"), "error: level DRAM: fw 1/1 has no dimension 'C'"),
        ((GEMM, "--mapping", "DRAM: K2"), "error: M: no factors cover its bound 4"),
        ((GEMM, "--mapping", "GLB: | X: M28"), "error: level GLB, axis X: spatial factors M28 do not fit: 28 > 14"),
        ((GEMM, "--mapping", MAPPING, "--phase", "wu"), "an einsum has no phase wu"),
        ((GEMM, "--mapping", MAPPING, "--part", "2"), "error: --part: no part '2'"),
        (("resnet18:layer2.0.conv1", "--mapping", MAPPING, "--phase", "bw"), "layer2.0.conv1 has 4 parts in phase bw"),
        ((GEMM, "--mapping", MAPPING, "--part", "1/4"), "error: --part: no part '1/4'"),
        ((GEMM, "--mapping", MAPPING, "--part", "x"), "error: --part: 'x' is not a part"),
        ((GEMM, "--mapping", MAPPING, "--part", "1/²"), "error: --part: '1/²' is not a part"),
        ((GEMM, "--mapping", MAPPING, "--part", "9" * 5000), "is not a part (2, or 2/4)"),
        (("resnet18:conv1", "--mapping", MAPPING, "--phase", "sideways"), "error: no phase 'sideways'"),
        (("resnet18:conv9", "--mapping", MAPPING), "did you mean 'conv1'?"),
        (("resnet18", "--mapping", MAPPING), "error: 'resnet18' is a network; which layer?"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    result = mapper("evaluate", *arguments, "--arch", ARCH)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
