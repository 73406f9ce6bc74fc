"""`mapper graph`: how words travel, as tables, in files, from a run or from a mapping."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path

import networkx as nx
import pytest

from mapper.arch.network import TOPOLOGIES
from mapper.cli import graph
from mapper.report.network_files import ENDINGS
from tests import tiny
from tests.arch.specs import bent
from tests.cli.shown import ARCH, GEMM, MAPPING, golden, mapper

NETWORK = "network: {topology: mesh, tile_mm: 0.5, wire_pj_per_bit_mm: 0.25, switch_pj_per_bit: 0.5, source: s"
WIRED = ("--arch", "wired.yaml", "--mapping", MAPPING)


@pytest.fixture
def wired(folder: Path) -> Path:
    """A working directory with `wired.yaml`: `right.yaml` with a mesh whose links carry 8 bits per cycle."""
    fanout = f"fanout: {{x: 14, y: 12, {NETWORK}, link_bits_per_cycle: 8}}}}"
    text = bent(("name: right", "name: wired"), ("fanout: {x: 14, y: 12}", fanout))
    (folder / "wired.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a search wrote `run`."""
    found = tmp_path_factory.mktemp("searched")
    tiny.write(found)
    arguments = ("--arch", "toy.yaml", "--phase", "fw,bw", "--partition", "KN,CN", "--top", "2", "-j", "1", "--quiet")
    with contextlib.chdir(found):
        result = mapper("search", "net.yaml", *arguments, "--output", "run")
    assert result.exit_code == 0, result.stderr
    return found


# What is printed ------------------------------------------------------------------------------------------------------


def test_a_mapping_is_shown_on_a_page(wired: Path) -> None:  # noqa: ARG001
    result = mapper("graph", GEMM, *WIRED)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == golden("graph.txt")
    assert max(map(len, result.stdout.splitlines())) <= 110


def test_it_takes_the_network_that_is_asked_for(folder: Path) -> None:  # noqa: ARG001
    result = mapper("graph", GEMM, "--arch", ARCH, "--mapping", MAPPING, "--topology", "bus")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\n  bus of 14 x 12 children below GLB, 2 x 2 in use\n" in result.stdout
    assert "energy" not in result.stdout
    assert "cycles" not in result.stdout
    assert "  A  sent       column bus" in result.stdout


def test_figures_are_printed_in_full(wired: Path) -> None:  # noqa: ARG001
    rows = json.loads(mapper("graph", GEMM, *WIRED, "--format", "json").stdout)
    assert [(row["tensor"], row["direction"]) for row in rows] == [
        ("A", "sent"),
        ("B", "sent"),
        ("Z", "collected"),
        ("Z", "returned"),
    ]
    assert rows[0] == {
        "tensor": "A",
        "direction": "sent",
        "pattern": "multicast column",
        "x": "M2 split",
        "y": "N2 shared",
        "words": 16,
        "pairs": 32,
        "degree_mean": 2.0,
        "degree_max": 2,
        "bits": 256,
        "bit_hops": 640,
        "energy_pj": 400.0,
        "link": "link of the parent",
        "link_bits": 256,
        "link_cycles": 32,
    }
    (first, *_) = csv.DictReader(io.StringIO(mapper("graph", GEMM, *WIRED, "--format", "csv").stdout))
    assert first == {name: str(value) for name, value in rows[0].items()}


def test_zeros_are_left_behind(folder: Path) -> None:  # noqa: ARG001
    layer, nest = "resnet18:layer1.0.conv1", "DRAM: K4 N1 C64 P14 Q14 | GLB: | X: K16 | Y: P4 | RF: Q4 R3 S3"
    arguments = ("graph", layer, "--arch", "procrustes", "--mapping", nest, "--format", "json")
    dense, sparse = (json.loads(mapper(*arguments, *more).stdout) for more in ((), ("--density", "0.5")))
    assert sparse[0]["words"] == dense[0]["words"] / 2
    assert sparse[1]["words"] == dense[1]["words"]


def test_metadata_of_zeros_is_shown_where_no_word_travels(folder: Path) -> None:  # noqa: ARG001
    layer, nest = "resnet18:layer1.0.conv1", "DRAM: K4 N1 C64 P14 Q14 | GLB: | X: K16 | Y: P4 | RF: Q4 R3 S3"
    result = mapper("graph", layer, "--arch", "procrustes", "--mapping", nest, "--density", "0")
    assert result.exit_code == 0
    travels = [line.split()[:4] for line in result.stdout.splitlines() if line.startswith("  W  sent ")]
    assert travels[1] == ["W", "sent", "0", "0"]
    assert len(travels) == 3


def test_a_mapping_that_does_not_fit_is_shown_and_refused(folder: Path) -> None:  # noqa: ARG001
    mapping = "GLB: K64 C3 P112 Q112 R7 S7"
    result = mapper("graph", "resnet18:conv1", "--arch", "procrustes", "--mapping", mapping)
    assert result.exit_code == 1
    assert "bus of 16 x 16 children below GLB, 1 x 1 in use" in result.stdout
    assert result.stderr.startswith("error: the tiles do not fit GLB: 31,025,504 bits")


# A run ----------------------------------------------------------------------------------------------------------------


def test_a_mapping_of_a_run_is_shown(searched: Path) -> None:
    with contextlib.chdir(searched):
        choice = ("--layer", "twin", "--phase", "forward", "--partition", "kn")
        result = mapper("graph", "run", *choice, "--rank", "2", "--topology", "tree")
    assert (result.exit_code, result.stderr) == (0, "")
    with (searched / "run" / "mappings.csv").open(newline="", encoding="utf-8") as file:
        row = next(
            row
            for row in csv.DictReader(file)
            if (row["layer"], row["phase"], row["partitioning"], row["rank"]) == ("twin", "fw", "KN", "2")
        )
    assert result.stdout.startswith(f"net:twin, fw 1/1, on toy: KN, rank 2\n  {row['mapping']}\n  tree of 2 x 2 ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "error: --layer: run has several: say which layer (one of: first, twin, last)\n"),
        (("run", "--layer", "x"), "error: --layer: run has no layer 'x' there"),
        (("run", "--layer", "twin", "--phase", "fw", "--partition", "KN"), "error: --topology: toy gives the fan-out"),
        (("run", "--arch", "toy.yaml"), "error: --arch: the run 'run' has its own\n"),
        (("run", "--batch", "2"), "error: --batch: the run 'run' has its own\n"),
        (("run", "--density", "0.5"), "error: --density: the run 'run' has its own\n"),
        (("nowhere",), "error: nowhere: no such folder, and no layer is called so"),
    ],
)
def test_a_choice_that_the_run_does_not_have_is_refused(
    searched: Path, arguments: tuple[str, ...], message: str
) -> None:
    with contextlib.chdir(searched):
        result = mapper("graph", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "begin"), [("f.png", b"\x89PNG"), ("f.SVG", b"<?xml"), ("f.pdf", b"%PDF")])
def test_the_figure_is_drawn_and_is_the_same_for_the_same_mapping(wired: Path, name: str, begin: bytes) -> None:
    pytest.importorskip("matplotlib")
    result = mapper("graph", GEMM, *WIRED, "-o", name)
    assert (result.exit_code, result.stdout, result.stderr) == (0, golden("graph.txt"), f"written: {name}\n")
    drawn = (wired / name).read_bytes()
    assert drawn.startswith(begin)
    refused = mapper("graph", GEMM, *WIRED, "-o", name)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"error: {name}: the file exists (--force overwrites it, -o writes elsewhere)\n"
    assert mapper("graph", GEMM, *WIRED, "-o", name, "--force").exit_code == 0
    assert (wired / name).read_bytes() == drawn
    assert sorted(path.name for path in wired.iterdir()) == sorted([name, ARCH, "wired.yaml"])


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_graphs_in_files_read_back_the_same(wired: Path, topology: str) -> None:
    for name in ("g.graphml", "g.json"):
        assert mapper("graph", GEMM, *WIRED, "--topology", topology, "-o", name).exit_code == 0
    marked = nx.read_graphml(wired / "g.graphml")
    read = nx.node_link_graph(json.loads((wired / "g.json").read_text(encoding="utf-8")), edges="edges")
    assert isinstance(read, nx.DiGraph)
    assert dict(marked.nodes(data=True)) == dict(read.nodes(data=True))
    assert {(a, b): e for a, b, e in marked.edges(data=True)} == {(a, b): e for a, b, e in read.edges(data=True)}
    assert read.graph["mapping"] == MAPPING
    assert sum(edge.get("words_A", 0) for _, end, edge in read.edges(data=True) if end.startswith("pe ")) == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "g.gif"), "error: -o: 'g.gif' does not end in .png, .svg, .pdf, .graphml, .json (g.png)\n"),
        (("-o", "no/g.png"), "error: -o: no folder 'no' (make it first)\n"),
        (("-o", "."), "error: .: is a folder (name a file in it)\n"),
        (("--topology", "mash"), "'mash' is none of bus, mesh, tree, crossbar, benes (did you mean 'mesh'?)"),
        (("--level", "DRAM"), "error: --level: wired has no fan-out below 'DRAM' (one of: GLB)\n"),
        (("--layer", "b"), "error: --layer: it chooses among the mappings of a run"),
    ],
)
def test_wrong_input_is_one_message_and_leaves_nothing(wired: Path, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(wired.iterdir())
    result = mapper("graph", GEMM, *WIRED, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert sorted(wired.iterdir()) == before


def test_a_network_that_the_spec_does_not_give_is_no_silent_default(folder: Path) -> None:
    result = mapper("graph", GEMM, "--arch", ARCH, "--mapping", MAPPING, "-o", "g.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: --topology: right gives the fan-out below GLB no network (add `network: {topology: mesh, ...}` to its "
        "fanout, or choose a topology here: bus, mesh, tree, crossbar, benes)\n"
    )
    assert not (folder / "g.json").exists()


def test_words_of_options_are_those_of_the_model() -> None:
    assert (graph.TOPOLOGIES, graph.ENDINGS) == (TOPOLOGIES, ENDINGS)
