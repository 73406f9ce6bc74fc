"""`mapper masks`: statistics, synthetic masks, and whether a file loads."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.shown import mapper

pytestmark = pytest.mark.usefixtures("here")

NET = """\
name: net
layers:
  - {name: conv1, conv: {C: 16, K: 32, R: 3, S: 3, H: 8, W: 8, padding: 1}}
  - {name: fc, linear: {C: 32, K: 16}, repeat: 2}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with a network and `m.npz`: conv1 keeps every second word, fc those of even outputs."""
    monkeypatch.chdir(tmp_path)
    Path("net.yaml").write_text(NET, encoding="utf-8")
    conv, fc = np.zeros(32 * 16 * 9, bool), np.zeros((16, 32), bool)
    conv[::2], fc[::2] = True, True
    np.savez("m.npz", conv1=conv.reshape(32, 16, 3, 3), fc=fc)


def test_statistics_as_a_table() -> None:
    # Kernels of even input channels keep 5 of 9, those of odd ones 4: lanes of C wait for 5 / 4.5. Half the outputs of
    # fc are empty: lanes of K wait for 32 / 16.
    result = mapper("masks", "stats", "m.npz", "--network", "net.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "net: masks of m.npz\n"
        "2 layers, 5,632 weights, density 0.5\n"
        "std, min, max, empty: densities of filters (output channels); dispersion: of the tiles of KN\n"
        "CK to PQ: busiest PE / mean PE, balance none, on 16 x 16 PEs of 256 words\n"
        "\n"
        "layer  shape        weights  density    std  min  max  empty  dispersion    CK  KN    CN  PQ\n"
        "conv1  1x32x16x3x3    4,608      0.5      0  0.5  0.5      0           0  1.11   1  1.11   1\n"
        "fc     1x16x32x1x1      512      0.5    0.5    0    1      8           1     2   2     1   1\n"
        "total                 5,632      0.5  0.354    0    1     16           -  1.11   1  1.11   1\n"
    )


def test_statistics_in_full() -> None:
    printed = mapper("masks", "stats", "m.npz", "--network", "net.yaml", "--format", "json").stdout
    rows = {row["layer"]: row for row in json.loads(printed)}
    assert list(rows) == ["conv1", "fc", "total"]
    assert (rows["fc"]["shape"], rows["fc"]["zero_filters"], rows["fc"]["imbalance_KN"]) == ("1x16x32x1x1", 8, 2.0)
    assert (rows["total"]["weights"], rows["total"]["nonzeros"]) == (4608 + 2 * 512, 2304 + 2 * 256)
    printed = mapper("masks", "stats", "m.npz", "--network", "net.yaml", "--format", "csv").stdout
    (first, *_) = csv.DictReader(io.StringIO(printed))
    assert (first["dispersion_filter"], first["imbalance_CK"]) == ("0.0", str(rows["conv1"]["imbalance_CK"]))


def test_balancing_evens_the_work_out() -> None:
    printed = mapper(
        "masks", "stats", "m.npz", "--network", "net.yaml", "--balance", "ideal", "--format", "json"
    ).stdout
    assert {row["imbalance_KN"] for row in json.loads(printed)} == {1.0}


@pytest.mark.parametrize(("name", "begin"), [("f.png", b"\x89PNG"), ("f.svg", b"<?xml"), ("f.pdf", b"%PDF")])
def test_the_figure_is_drawn_and_is_the_same_for_the_same_masks(name: str, begin: bytes) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("masks", "stats", "m.npz", "--network", "net.yaml", "--figure", name)
    result = mapper(*arguments)
    assert (result.exit_code, result.stderr) == (0, f"written: {name}\n")
    drawn = Path(name).read_bytes()
    assert drawn.startswith(begin)
    refused = mapper(*arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"error: {name}: the file exists (--force overwrites it, --figure writes elsewhere)\n"
    assert mapper(*arguments, "--force").exit_code == 0
    assert Path(name).read_bytes() == drawn


def test_synthetic_masks_are_written_and_the_next_step_works() -> None:
    arguments = ("masks", "make", "--network", "net.yaml", "--density", "0.25", "--output", "new.npz")
    result = mapper(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "written: new.npz, 5,120 weights, density 0.25\nnext: mapper masks stats new.npz --network net.yaml\n"
    )
    written = Path("new.npz").read_bytes()
    assert mapper("masks", "stats", "new.npz", "--network", "net.yaml").exit_code == 0
    assert mapper(*arguments).stderr == (
        "error: new.npz: the file exists (--force overwrites it, --output writes elsewhere)\n"
    )
    assert mapper(*arguments, "--seed", "1", "--force").exit_code == 0
    assert Path("new.npz").read_bytes() != written
    assert mapper(*arguments[:-1], "again.npz", "--sparsity", "75%").exit_code == 0
    assert Path("again.npz").read_bytes() == written
    assert {path.name for path in Path().iterdir()} == {"net.yaml", "m.npz", "new.npz", "again.npz"}


@pytest.mark.parametrize("pattern", ["uniform", "erk", "global", "dispersed", "block", "2:4", "1:16"])
def test_every_pattern_makes_masks_that_load(pattern: str) -> None:
    density = () if ":" in pattern else ("--density", "0.25")
    made = mapper("masks", "make", "--network", "net.yaml", *density, "--pattern", pattern, "--output", "p.npz")
    assert (made.exit_code, made.stderr) == (0, "")
    assert mapper("masks", "check", "p.npz", "--network", "net.yaml").exit_code == 0


def test_masks_that_load_are_ok_with_what_they_hold() -> None:
    result = mapper("masks", "check", "m.npz", "--network", "net.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("ok: m.npz: 2 layers, 5,632 weights, density 0.5, digest ")
    one = mapper("masks", "check", "m.npz", "--network", "net.yaml:fc")
    assert "1 array names no layer of network 'net': 'conv1'" in one.stderr


def test_a_partial_file_says_what_stays_dense() -> None:
    np.savez("part.npz", fc=np.eye(16, 32))
    refused = mapper("masks", "check", "part.npz", "--network", "net.yaml")
    assert refused.stderr == "error: part.npz: 1 layer has no mask: conv1 (--partial leaves it dense)\n"
    result = mapper("masks", "check", "part.npz", "--network", "net.yaml", "--partial")
    assert "ok: part.npz: 1 layer (1 left dense), 1,024 weights, density 0.03125" in result.stdout


def test_a_snapshot_is_chosen_by_name() -> None:
    Path("run").mkdir()
    for epoch in (1, 2):
        Path(f"run/epoch_{epoch}.npz").write_bytes(Path("m.npz").read_bytes())
    result = mapper("masks", "check", "run", "--network", "net.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: run: holds 2 snapshots: epoch_1, epoch_2 (choose one: a name, 'last', 0)\n"
    result = mapper("masks", "check", "run", "--network", "net.yaml", "--snapshot", "last")
    assert result.stdout.startswith("ok: run/epoch_2.npz: 2 layers")


def test_masks_that_keep_all_are_a_warning_in_a_line() -> None:
    np.savez("all.npz", conv1=np.ones((32, 16, 3, 3), bool), fc=np.eye(16, 32))
    result = mapper("masks", "check", "all.npz", "--network", "net.yaml")
    assert (result.exit_code, result.stderr) == (0, "warning: all.npz: conv1 has a mask that keeps every weight\n")


def test_masks_of_nothing_can_be_drawn() -> None:
    pytest.importorskip("matplotlib")
    np.savez("none.npz", conv1=np.zeros((32, 16, 3, 3), bool), fc=np.zeros((16, 32), bool))
    result = mapper("masks", "stats", "none.npz", "--network", "net.yaml", "--figure", "none.png")
    assert (result.exit_code, result.stderr) == (0, "written: none.png\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "none.npz", "--network", "net.yaml"), "error: none.npz: no such file or folder"),
        (("check", "m.npz", "--network", "resnet81"), "did you mean 'resnet18'?"),
        (
            ("check", "m.npz", "--network", "net.yaml", "--axes", "RSCK"),
            "error: m.npz: conv1: given (32, 16, 3, 3), but",
        ),
        (("check", "m.npz", "--network", "net.yaml", "--threshold", "-1"), "error: threshold: threshold -1.0"),
        (("check", "m.npz", "--network", "net.yaml", "--threshold", "nan"), "error: threshold: threshold nan"),
        (("check", "m.npz"), "Missing option '--network'"),
        (("stats", "m.npz", "--network", "net.yaml", "--figure", "f.gif"), "error: --figure: 'f.gif' does not end in"),
        (("stats", "m.npz", "--network", "net.yaml", "--balance", "half"), "'half' is none of none, half_tile"),
        (("stat", "m.npz"), "Did you mean 'stats'?"),
        (("make", "--network", "net.yaml", "--density", "6.63", "--output", "x.npz"), "'6.63' is no density"),
        (("make", "--network", "net.yaml", "--density", "-0.1", "--output", "x.npz"), "'-0.1' is no density"),
        (("make", "--network", "net.yaml", "--output", "x.npz"), "of which density? (--density 0.1)"),
        (("make", "--network", "net.yaml", "--density", "0.1", "--output", "x.npy"), "'x.npy' does not end in .npz"),
        (("make", "--network", "net.yaml", "--density", "0.1", "--output", "no/x.npz"), "no/x.npz: cannot be written"),
        (
            ("make", "--network", "net.yaml", "--density", "0.1", "--sparsity", "0.8", "--output", "x.npz"),
            "error: density 0.1 and sparsity 0.8 disagree",
        ),
    ],
)
def test_what_is_wrong_is_one_message_and_leaves_no_file(arguments: tuple[str, ...], message: str) -> None:
    result = mapper("masks", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert {path.name for path in Path().iterdir()} == {"net.yaml", "m.npz"}
