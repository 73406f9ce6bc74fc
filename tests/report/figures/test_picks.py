"""What figures take from a run: the best of each part, layers that are complete, names for titles."""

from __future__ import annotations

from mapper.report.figures.energy import components
from mapper.report.figures.picks import choice_text, layers, partitionings, phases, picks, subject
from mapper.report.figures.scales import cycles, joules, prefix
from tests.report.figures.rows import one, results


def test_the_best_partitioning_is_found_part_by_part() -> None:
    found = results(
        [
            one("a", "wu", "KN", part="1/2", cycles=10),
            one("a", "wu", "CN", part="1/2", cycles=5),
            one("a", "wu", "KN", part="2/2", cycles=6),
            one("a", "wu", "CN", part="2/2", cycles=9),
        ]
    )
    best = picks(found)["a", "wu"]
    assert [row["partitioning"] for row in best.rows] == ["CN", "KN"]
    assert (best.sum("cycles"), best.sum("energy_pj")) == (11, 8)
    assert picks(found, "KN")["a", "wu"].sum("cycles") == 16


def test_the_first_of_equal_partitionings_is_taken() -> None:
    found = results([one("a", partitioning="KN"), one("a", partitioning="CN")])
    assert [row["partitioning"] for row in picks(found)["a", "fw"].rows] == ["KN"]


def test_a_layer_without_all_its_parts_is_left_out() -> None:
    found = results([one("a", "wu", part="1/4"), one("a", "wu", part="3/4"), one("a", "fw")])
    assert list(picks(found)) == [("a", "fw")]
    assert picks(found, "PQ") == {}


def test_layers_are_in_the_order_of_the_network_and_phases_in_that_of_training() -> None:
    found = results([one("z", "wu"), one("z", "fw"), one("a", "fw", "CN"), one("1", "bw")], {"a": 3})
    assert layers(found) == ("z", "a", "1")
    assert phases(found) == ("fw", "bw", "wu")
    assert partitionings(found) == ("KN", "CN")
    assert picks(found)["a", "fw"].repeat == 3


def test_components_are_those_that_ever_take_energy_and_no_roles() -> None:
    found = results(
        [
            one("a", energies={"DRAM": 1.0, "role_model": 2.0, "idle": 0.0}),
            one("b", energies={"DRAM": 0.0, "role_model": 0.0, "idle": 0.0}),
        ]
    )
    assert components(found) == ("DRAM", "role_model")


def test_titles_say_what_was_chosen() -> None:
    several = results([one("a"), one("a", partitioning="CN")])
    assert choice_text("best", several) == "best partitioning of each layer by EDP"
    assert choice_text("best", results([one("a", partitioning="CN")])) == "partitioning CN"
    assert choice_text("KN", several) == "partitioning KN"
    assert subject(several) == "run (net on toy)"
    assert subject(results([one("a")], name="toy")) == "toy (net)"


def test_units_leave_the_largest_value_at_one_or_more() -> None:
    assert joules(0.5) == (1.0, "pJ")
    assert joules(999) == (1.0, "pJ")
    assert joules(1e3) == (1e3, "nJ")
    assert joules(2.5e12) == (1e12, "J")
    assert cycles(999) == (1.0, "cycles")
    assert cycles(1e6) == (1e6, "10⁶ cycles")
    assert prefix(5) == (1.0, "")
    assert prefix(5000) == (1e3, "10³ ")
