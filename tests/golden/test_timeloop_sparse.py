"""The sparse figures of Timeloop v4 for the mapping given: what is skipped, gated, compressed, and what differs.

How a case is expressed says `sparse_cases`. Figures there are expectations per instance that holds a nonempty tile,
rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.golden.cases import slides
from tests.golden.convert import Key
from tests.golden.executed import executed_moves
from tests.golden.sparse_cases import CASES, FILE, POLICIES, Sparse, words

NOT_EXPRESSED = {
    "s_tile_skip_DRAM": "a tile of B is not moved where the tile of A is empty: here zeros are skipped word by word",
    "s_3lvl_spatial_skip": "empty words are given no PE: the PEs of a mapping here are those of its dense loops",
}

SPATIAL = "ref_sparseloop_03.2.3-conv1d+oc-spatial"
GATING = "ref_sparseloop_04.2.1-eyeriss-like-gating"
SEARCHED = "ref_sparseloop_04.2.2-eyeriss-like-gating-mapspace-search"
COMPRESSED = "ref_sparseloop_04.2.3-eyeriss-like-onchip-compression"

NO_CYCLE_FOR_GATED = {
    "s_gate_B_on_A": 512,
    "s_uncompressed_bitmask": 512,
    "s_banded_gate": 512,
    "s_3lvl_gate": 288,
    "s_conv_gate_W_on_I": 1152,
    "s_conv_RLE_dram": 1152,
    "s_gate_vs_skip_gate": 512,
    "ref_sparseloop_01.2.2-SUDU-dot-product": 16,
    GATING: 3_833_856,
    SEARCHED: 9_345_024,
}
"""Cycles of compute here. There gating at the innermost memory takes the point away: gated points take no cycle."""

OTHER_CYCLES = {
    "s_fixed_both_gate": (512, 320, "a pair that neither operand stores takes no cycle there: 1 - 1/2 * 3/4 of 512"),
    SPATIAL: (108, 47, "weights come from a memory that all PEs share: here those save no cycles"),
    COMPRESSED: (6_230_016, 1_713_255, "only the zeros of an operand that does not slide save cycles here"),
}
"""Of compute: ours, theirs, why."""

OTHER_PORTS = {
    ("s_bw", "BUF"): (478, 487, "a pointer for each row of a tile and one more; here a share per position"),
    ("ref_sparseloop_01.2.2-SUDU-dot-product", "Buffer"): (8, 16, "gated updates take the write port there"),
    (GATING, "weights_spad"): (527_156, 1_916_929, "gated reads take the read port there"),
    (SEARCHED, "weights_spad"): (1_284_941, 4_672_512, "gated reads take the read port there"),
    (GATING, "shared_glb"): (1_124_736, 1_246_752, "reads of halos are over-counted there"),
    (COMPRESSED, "shared_glb"): (1_808_976, 1_827_229, "1,168,128 pointers of 4 bits; here run lengths have none"),
}
"""Of the ports of a buffer that take longer there than compute: ours, theirs, why."""

OTHER_WORDS = {
    ("s_double_sided_skip", "BUF", "A", "reads"): (64, 128, "A leads there: all its nonzeros are read, matched or not"),
    ("s_block2", "BUF", "A", "reads"): (226, 128, "a zero beside a nonzero is read here: the pair is one block"),
}
"""Ours, theirs, why."""

HALOS = {
    ("s_conv_gate_W_on_I", "GLB", "Inputs", "reads"): (1152, 4608),
    ("s_conv_RLE_dram", "GLB", "Inputs", "reads"): (1152, 4608),
    ("s_conv_skip_CSF", "GLB", "Inputs", "reads"): (1152, 4608),
    (GATING, "shared_glb", "Inputs", "reads"): (1_382_400, 3_594_240),
}
"""Over-counted there, since neighbours share their halos (see `test_timeloop`): ours, theirs."""

EVEN = 1e-12
"""Relative error of a sum of floats that does not round up to another whole number."""

EXPRESSED = [case for name, case in CASES.items() if name in POLICIES]

every_case = pytest.mark.parametrize("case", EXPRESSED, ids=str)


def test_every_sparse_case_is_expressed_or_has_a_reason() -> None:
    assert [case["name"] for case in FILE["cases"]] == list(CASES)
    assert {*CASES} == {*POLICIES, *NOT_EXPRESSED}
    assert not {*POLICIES} & {*NOT_EXPRESSED}
    assert (len(CASES), len(POLICIES)) == (33, 31)
    assert {*NO_CYCLE_FOR_GATED, *OTHER_CYCLES} <= {*POLICIES}


@every_case
def test_what_was_mapped_there_fits_here(case: Sparse) -> None:
    assert case.accesses.fits


# Points and cycles.


@every_case
def test_points_are_equal(case: Sparse) -> None:
    theirs = case.case["computes"]
    assert theirs["algorithmic"] == case.computes.points
    assert theirs["actual"] == math.ceil(case.computes.effectual_points * (1 - EVEN))


@every_case
def test_cycles_of_compute_are_equal_but_where_gated_points_take_none_there(case: Sparse) -> None:
    name, ours, theirs = str(case), case.computes.bounds["compute"], case.compute_cycles
    if name in NO_CYCLE_FOR_GATED:
        assert ours == NO_CYCLE_FOR_GATED[name] == case.dense.evaluation.bounds["compute"]
        assert theirs == math.ceil(case.accesses.effectual_points / case.used_pes)
    elif name in OTHER_CYCLES:
        assert (ours, theirs) == OTHER_CYCLES[name][:2]
    else:
        assert ours == theirs


@every_case
def test_ports_that_take_longer_are_equal_but_for_named_differences(case: Sparse) -> None:
    slower = {level: held["cycles"] for level, held in case.case["figures"].items()}
    assert case.case["cycles"] == max(slower.values())
    for level, theirs in slower.items():
        if theirs > case.compute_cycles:
            mine = max(cycles for port, cycles in case.accesses.bounds.items() if port.startswith(f"{level} "))
            if (str(case), level) in OTHER_PORTS:
                assert (mine, theirs) == OTHER_PORTS[str(case), level][:2]
            else:
                assert theirs - mine in (0, 1), level  # a float there may end a hair above a whole number


def test_every_named_port_takes_longer_than_compute_there() -> None:
    for (name, buffer), (_, theirs, _) in OTHER_PORTS.items():
        assert theirs == CASES[name].case["figures"][buffer]["cycles"] > CASES[name].compute_cycles


# Words.


@dataclass(frozen=True)
class Count:
    """Words of both over all instances; `instances` of one word each are what rounding may make of them."""

    key: Key
    mine: float
    theirs: float
    instances: float


def _counts(case: Sparse) -> Iterator[Count]:
    for level, held in case.case["figures"].items():
        for tensor, figures in held.items():
            if tensor != "cycles":
                instances = case.instances(level, tensor, figures["average_instances"])
                for action in sorted({"reads", "fills", "updates"} & figures.keys()):
                    key = (level, tensor, action)
                    yield Count(key, case.figures[key], figures[action] * instances, instances)


@every_case
def test_words_are_equal_to_one_per_instance(case: Sparse) -> None:
    for count in _counts(case):
        where = (str(case), *count.key)
        pair = (round(count.mine), round(count.theirs))
        if where in HALOS:
            assert pair == HALOS[where]
        elif where in OTHER_WORDS:
            assert pair == OTHER_WORDS[where][:2]
        else:
            assert count.mine == pytest.approx(count.theirs, abs=count.instances), count.key


@every_case
def test_what_moves_here_is_printed_there(case: Sparse) -> None:
    printed = {count.key for count in _counts(case)}
    silent = {key for key, moved in case.figures.items() if moved and key[2] != "temporal_reductions"} - printed
    assert silent == set()


def test_halos_are_of_tensors_that_slide() -> None:
    assert all(slides(CASES[name].dense.einsum, tensor) for name, _, tensor, _ in HALOS)


def test_308_of_314_counts_are_equal() -> None:
    compared = {(str(case), *count.key) for case in EXPRESSED for count in _counts(case)}
    assert {*HALOS, *OTHER_WORDS} <= compared
    assert (len(compared), len(HALOS), len(OTHER_WORDS)) == (314, 4, 2)


# Metadata. Formats there are trees of one kind per rank; the lowest rank alone is comparable.

METADATA_DIFFERS = {
    "UOP": "pointers per nonempty fiber and one more; here a share per position of a tensor's rows",
    "upper CP": "one coordinate per nonempty row; here every nonzero has all its coordinates",
    "RLE of tiles that may be empty": "59 runs for 70 nonzeros of a nonempty tile: its chance, 0.91, counts twice over",
    "CP and RLE in DRAM": "45 for 64 nonzeros that are read: a nonempty fiber has as many there as an average one",
    "sliding tensors": "the words that tiles share count once per tile",
}

TILES_OVERLAP = {
    "s_conv_RLE_dram": (12 * 12, 10 * 10),  # 2 x 2 tiles of 6 x 6
    SEARCHED: (13 * 3, 15),  # 13 tiles of 3 rows
    COMPRESSED: (13 * 3, 15),
}
"""Positions of all tiles of the inputs in DRAM, positions of the tensor along the same ranks."""


def test_a_bitmask_has_one_bit_per_position_that_moves() -> None:
    case = CASES["s_fixed_both_gate"]
    bits = {(i.component, i.tensor, i.action): i.bits - case.word_bits * i.count for i in case.accesses.items}
    for tensor in "AB":
        assert bits["DRAM", tensor, "reads"] == case.case["figures"]["DRAM"][tensor]["format_reads"]["rank0"][0] == 256
        assert bits["BUF", tensor, "reads"] == case.case["figures"]["BUF"][tensor]["format_reads"]["rank0"][0] == 512
        assert bits["BUF", tensor, "fills"] == case.case["figures"]["BUF"][tensor]["format_fills"]["rank0"][0] == 256


@pytest.mark.parametrize("name", ["s_skip_B_on_A_CP", "s_compress_only_CP", "s_skip_BZ_on_A_COO"])
def test_the_lowest_rank_of_coordinates_has_one_per_nonzero(name: str) -> None:
    case = CASES[name]
    figures = case.case["figures"]["BUF"]["A"]
    instances = case.instances("BUF", "A", figures["average_instances"])
    for action in ("reads", "fills"):
        theirs = figures[f"format_{action}"]["rank0"][0] * instances
        assert words(case.accesses)["BUF", "A", action] == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("name", [*(name for name in CASES if name.startswith("ref_")), "s_conv_RLE_dram"])
def test_coordinates_and_runs_are_one_per_nonzero_and_of_overlapping_tiles_once_per_tile(name: str) -> None:
    for count in _counts(CASES[name]):
        level, tensor, action = count.key
        if runs := CASES[name].case["figures"][level][tensor].get(f"format_{action}"):
            apart, together = TILES_OVERLAP.get(name, (1, 1)) if (level, tensor) == ("DRAM", "Inputs") else (1, 1)
            theirs = runs["rank0"][0] * count.instances
            assert count.mine * apart / together == pytest.approx(theirs, abs=count.instances + EVEN * theirs)


@pytest.mark.parametrize(
    ("name", "tensor", "theirs"),
    [
        ("s_skip_B_on_A_CP", "A", 45),
        ("s_skip_BZ_on_A_RLE", "A", 45),
        ("s_skip_BZ_on_A_COO", "A", 45),
        ("s_both_skip", "B", 121),
    ],
)
def test_in_dram_nonempty_fibers_have_the_coordinates_of_average_ones(name: str, tensor: str, theirs: int) -> None:
    case = CASES[name]
    nonempty = 1 - case.densities[tensor].empty((1, 4))
    assert math.ceil(words(case.accesses)["DRAM", tensor, "reads"] * nonempty) == theirs
    assert case.case["figures"]["DRAM"][tensor]["format_reads"]["rank0"][0] == theirs


# Reasons.


def test_pointers_are_what_makes_write_ports_slower_there() -> None:
    for name, buffer in (("s_bw", "BUF"), (COMPRESSED, "shared_glb")):
        case, bits = CASES[name], 0.0
        level = next(level for level in case.case["levels"] if level["name"] == buffer)
        for count in _counts(case):
            if count.key[0] == buffer and count.key[2] in ("fills", "updates"):
                figures = case.case["figures"][buffer][count.key[1]].get(f"format_{count.key[2]}", {})
                written = sum(map(sum, figures.values())) * count.instances
                bits += count.mine * case.word_bits + written * level["metadata_datawidth"]
        cycles = bits / (level["write_bandwidth"] * case.word_bits)
        assert math.ceil(cycles) in (OTHER_PORTS[name, buffer][1], OTHER_PORTS[name, buffer][1] - 1)


def test_weights_that_a_pe_keeps_save_the_cycles_that_shared_ones_do_not() -> None:
    case = CASES[SPATIAL]
    everything = [
        {**directive, "keep": ["Weights", "Inputs", "Outputs"]} if directive.get("keep") else directive
        for directive in case.case["mapping"]
    ]
    assert case.accesses.cycles == 108
    assert Sparse({**case.case, "mapping": everything}).accesses.cycles == 47 == case.compute_cycles


def test_zeros_of_a_sliding_tensor_would_save_the_cycles_of_their_share() -> None:
    case = CASES[COMPRESSED]
    assert math.ceil(case.accesses.effectual_points / case.used_pes) == case.compute_cycles


def test_columns_of_pes_share_their_halos_as_executed() -> None:
    case, rounds = CASES[GATING].case, 6 * 64 * 4  # of M, C and N: each begins without inputs of the last
    mapping = [directive for directive in case["mapping"] if directive["target"] != "DRAM"]
    mapping = [{**d, "factors": "P13"} if d.get("factors") == "N4 P13" else d for d in mapping]
    formula = case["einsum"].replace("C=256 M=384", "C=4 M=64").replace("N=4", "N=1")
    round_ = Sparse({**case, "einsum": formula, "mapping": mapping}).dense.evaluation
    key = ("shared_glb", "Inputs", "reads")
    assert executed_moves(round_)[key] == words(round_)[key] == 4 * 15 * 15  # channels, rows, columns
    ours, theirs = HALOS[GATING, *key]
    assert (ours, theirs) == (rounds * 4 * 15 * 15, rounds * 4 * 15 * (13 * 3))


def test_tiles_that_are_not_moved_and_pes_that_are_not_used() -> None:
    tile, spatial = CASES["s_tile_skip_DRAM"], CASES["s_3lvl_spatial_skip"]
    moved = words(tile.dense.evaluation)["DRAM", "B", "reads"]
    nonempty = 1 - tile.densities["A"].empty((2, 2))
    assert (moved, math.ceil(moved * nonempty)) == (256, tile.case["figures"]["DRAM"]["B"]["reads"]) == (256, 178)
    assert (spatial.dense.evaluation.cycles, spatial.case["cycles"]) == (1152, 576)
