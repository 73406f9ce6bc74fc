"""Numbers behind figures of runs, worked out by hand."""

from __future__ import annotations

import pytest

from mapper.errors import InputError
from mapper.report.figures.roofline import outermost, points
from mapper.report.figures.speedup import draw_speedup, gains, partitioning_entries
from mapper.report.figures.utilization import utilizations
from tests.report.figures.rows import limits, one, results, total


def test_utilization_weighs_parts_by_their_cycles() -> None:
    """Two parts on 4 PEs: (20 + 70) / ((10 + 20) x 4)."""
    found = results([one("a", "wu", part="1/2"), one("a", "wu", part="2/2", cycles=20, macs=70.0)])
    assert utilizations(found, "KN") == {("a", "wu"): 0.75}


def test_a_point_of_the_roofline_has_the_bits_of_reads_and_updates_of_the_chosen_mappings() -> None:
    """20 macs from 80 bits in 10 cycles by KN; CN is slower. Drains, other levels and second ranks do not count."""
    found = results([one("a"), one("a", partitioning="CN", cycles=11, bits=8.0)])
    (point,) = points(found)
    assert (point.per_bit, point.per_cycle) == (0.25, 2.0)
    (other,) = points(found, "CN")
    assert other.per_bit == 2.5
    assert other.per_cycle == pytest.approx(20 / 11)


def test_parts_make_one_point() -> None:
    found = results([one("a", "wu", part="1/2"), one("a", "wu", part="2/2", cycles=30, macs=60.0, bits=20.0)])
    (point,) = points(found)
    assert (point.per_bit, point.per_cycle) == (0.8, 2.0)


def test_a_layer_that_moves_or_computes_nothing_has_no_point() -> None:
    assert points(results([one("a", bits=0.0), one("b", macs=0.0)])) == ()


@pytest.mark.parametrize(
    ("ports", "bandwidth"),
    [
        ({}, None),
        ({"shared": 64.0}, 64.0),
        ({"read": 8.0, "write": 4.0}, 12.0),
        ({"read": 8.0}, None),
        ({"read": 8.0, "shared": 10.0}, 10.0),
        ({"read": 4.0, "write": 4.0, "shared": 10.0}, 8.0),
    ],
)
def test_bandwidth_is_that_of_both_directions(ports: dict[str, float], bandwidth: float | None) -> None:
    assert outermost(limits(**ports)).bandwidth == bandwidth


def test_buffers_beside_each_other_add_their_bandwidths_if_all_are_limited() -> None:
    both = limits(shared=64.0)
    both["levels"][0]["buffers"].append({"name": "ROM", "bandwidth_bits_per_cycle": {"shared": 16.0}})
    both["levels"][0]["instances"] = 2
    memory = outermost(both)
    assert memory.buffers == {"DRAM", "ROM"}
    assert memory.bandwidth == 160.0
    both["levels"][0]["buffers"][1]["bandwidth_bits_per_cycle"] = {}
    assert outermost(both).bandwidth is None


def test_gains_are_ratios_to_the_first_and_overall_those_of_sums() -> None:
    base = ("base", {"fw": (100.0, 8.0), "bw": (300.0, 8.0)})
    other = ("other", {"bw": (100.0, 16.0), "fw": (100.0, 4.0), "wu": (1.0, 1.0)})
    assert gains((base, other), 0) == {"fw": [1.0], "bw": [3.0], "all": [2.0]}
    assert gains((base, other), 1) == {"fw": [2.0], "bw": [0.5], "all": [0.8]}


def test_a_result_that_misses_a_phase_has_no_gain_there_nor_overall() -> None:
    base = ("base", {"fw": (100.0, 8.0), "bw": (300.0, 8.0)})
    assert gains((base, ("other", {"fw": (50.0, 0.0)})), 0) == {"fw": [2.0], "bw": [None], "all": [None]}
    assert gains((base, ("other", {"fw": (50.0, 0.0)})), 1)["fw"] == [None]
    assert list(gains((("one", {"wu": (1.0, 1.0)}), ("two", {})), 0)) == ["wu"]


def test_partitionings_enter_with_the_phases_in_which_every_layer_has_a_mapping() -> None:
    rows = [total("fw", "KN", 10, 1.0), total("bw", "KN", 20, 2.0), total("all", "KN", 30, 3.0)]
    rows += [total("fw", "PQ", 5, 4.0), total("bw", "PQ", 1, 1.0, missing=2), total("fw", "best", 5, 1.0)]
    assert partitioning_entries(results([one("a")], totals=rows)) == (
        ("KN", {"fw": (10, 1.0), "bw": (20, 2.0)}),
        ("PQ", {"fw": (5, 4.0)}),
        ("best of each layer", {"fw": (5, 1.0)}),
    )


def test_results_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two results are called alike: a, b, a"):
        draw_speedup([("a", {}), ("b", {}), ("a", {})], "title")
