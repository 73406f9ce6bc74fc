"""What `mapper search` says where no mapping fits, and that the change it proposes is the smallest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mapper.cli.main import cli
from tests import tiny

Search = Callable[..., Result]

CONV = "name: three\nlayers: [{name: conv, conv: {C: 2, K: 4, R: 3, S: 3, H: 4, W: 4, padding: 1}}]\n"

ONE_WORD = """\
name: oneword
bits: {default: 16, partial_sum: 32}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {read: 100, write: 100, source: by hand}
  - name: GLB
    capacity_kib: 0.25
    energy_pj_per_word: {read: 10, write: 10, source: by hand}
    fanout: {x: 2, y: 2}
  - name: RF
    capacity_words: 1
    energy_pj_per_word: {read: 1, write: 1, source: by hand}
compute: {energy_pj: 1, source: by hand}
"""


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Run `mapper search` in a folder with the files of this test."""
    monkeypatch.chdir(tmp_path)
    tiny.write(tmp_path)
    Path("three.yaml").write_text(CONV)
    Path("oneword.yaml").write_text(ONE_WORD)

    def run(*arguments: str) -> Result:
        arguments = ("search", "-j", "1", "--top", "1", "--output", "out", *arguments)
        return CliRunner().invoke(cli, arguments, prog_name="mapper")

    return run


def test_case_37_a_one_word_buffer_under_a_3x3_layer(search: Search) -> None:
    result = search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw", "--partition", "KN")
    assert (result.exit_code, result.stdout, os.listdir("out")) == (1, "", [])
    assert (
        result.stderr
        == """\
error: conv fw 1/1 KN: no mapping fits oneword (smallest change: RF: capacity_words 1 -> 4)

8,748 tilings, and the limits that they exceed
  (a tiling: a chain of factors for each dimension and a choice of kept tensors; loop orders do not matter)
       limit                       tilings beyond it    share
  RF   capacity_words 1   exactly              8,748  100.0 %
  GLB  capacity_kib 0.25  exactly              1,911   21.8 %
  a tiling may exceed several
Nearest miss: the least excess, as shares of the capacities added up, 300.0 %
  DRAM: K4 C2 P4 Q4 R3 S3 | GLB: | RF:
       bits needed  capacity   excess  bits by tensor
  GLB           64     2,048        -  W 16, I 16, O 32
  RF            64        16  300.0 %  W 16, I 16, O 32
Smallest change of oneword.yaml that lets one fit: the fewest buffers, then the fewest bits
  RF: capacity_words 1 -> 4
"""
    )


@pytest.mark.parametrize(("words", "code"), [(3, 1), (4, 0)])
def test_the_change_that_is_proposed_does_and_one_word_less_does_not(search: Search, words: int, code: int) -> None:
    Path("oneword.yaml").write_text(ONE_WORD.replace("capacity_words: 1", f"capacity_words: {words}"))
    assert search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw", "--partition", "KN").exit_code == code


def test_rankings_that_the_same_change_would_help_are_explained_once(search: Search) -> None:
    result = search("three.yaml", "--arch", "oneword.yaml")
    lines = result.stderr.splitlines()
    assert lines[0] == (
        "error: 12 rankings, conv fw 1/1 CK, conv fw 1/1 KN, conv fw 1/1 CN and 9 more: "
        "no mapping fits oneword (smallest change: RF: capacity_words 1 -> 4)"
    )
    assert lines[2].startswith("conv fw 1/1 CK, the first of these: ")
    assert sum("Nearest miss" in line for line in lines) == 1
    assert "every one" not in result.stderr


def test_rankings_that_need_different_changes_stand_apart_and_one_change_does_for_all(search: Search) -> None:
    Path("picky.yaml").write_text(tiny.PICKY.replace("capacity_bits: 30", "capacity_bits: 20"))
    result = search("mixed.yaml", "--arch", "picky.yaml", "--phase", "fw", "--partition", "KN")
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        "error: fits fw 1/1 KN: no mapping fits picky (smallest change: RF: capacity_bits 20 -> 24)",
        "error: does_not fw 1/1 KN: no mapping fits picky (smallest change: RF: capacity_bits 20 -> 48)",
    ]
    assert result.stderr.count("Nearest miss") == 2
    assert result.stderr.endswith("\nevery one of these has a mapping with RF: capacity_bits 20 -> 48\n")
    Path("picky.yaml").write_text(tiny.PICKY.replace("capacity_bits: 30", "capacity_bits: 48"))
    assert search("mixed.yaml", "--arch", "picky.yaml", "--phase", "fw", "--partition", "KN").exit_code == 0


def test_quiet_says_only_that_nothing_fits_and_what_would_do(search: Search) -> None:
    result = search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw", "--partition", "KN", "--quiet")
    assert result.exit_code == 1
    assert result.output == (
        "error: conv fw 1/1 KN: no mapping fits oneword (smallest change: RF: capacity_words 1 -> 4)\n"
    )


def test_a_shipped_accelerator_goes_by_its_name(search: Search) -> None:
    asked = ("--constrain", "RF: C=64 K=64 R=3 S=3")
    result = search("resnet18:layer1.0.conv1", "--arch", "procrustes", "--phase", "fw", "--partition", "KN", *asked)
    assert result.exit_code == 1
    assert "\nSmallest change of procrustes that lets one fit: " in result.stderr
    # 64 x 64 x 3 x 3 weights, 64 x 3 x 3 inputs and 64 outputs
    assert result.stderr.endswith("\n  RF: capacity_words 256 -> 37504\n")


def test_constraints_without_any_chain_are_one_line(search: Search) -> None:
    asked = ("--constrain", "RF: K=3")
    result = search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw", "--partition", "KN", *asked)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: conv fw 1/1 KN: no chain of K=4 satisfies: RF: K=3")
    assert len(result.stderr.splitlines()) == 1


def test_workers_hand_the_diagnosis_back(search: Search) -> None:
    alone = search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw")
    assert search("three.yaml", "--arch", "oneword.yaml", "--phase", "fw", "-j", "2").stderr == alone.stderr
