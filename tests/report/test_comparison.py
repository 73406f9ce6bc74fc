"""Comparisons: above 1 is better, totals are those of the run, geometric means count repeats, the work is the same."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mapper.errors import InputError
from mapper.report.comparison import MEASURES, compare, geometric_mean
from mapper.report.comparison_text import comparison_table, comparison_text, differences, layers_table, ratio, title
from mapper.report.formats import FORMATS
from mapper.report.results import Results, results
from mapper.report.sides import Piece, by_partitioning, by_phase, pieces, side
from mapper.runs import run
from mapper.search.rows import Row
from mapper.workload import Phase
from tests import tiny

LIMITS: dict[str, Any] = {"compute": {"units": 4}}


def row(
    layer: str, phase: str, cycles: int, energy: float, part: str = "1/1", partitioning: str = "KN", **others: Any
) -> Row:
    """A first mapping; 8 MACs, all of them effectual, once, unless `others` say something else."""
    usual: Row = {"network": "net", "rank": 1, "repeat": 1, "macs": 8, "effectual_macs": 8, "optimal": True}
    place: Row = {"layer": layer, "phase": phase, "part": part, "partitioning": partitioning}
    cost: Row = {"cycles": cycles, "energy_pj": energy, "edp_pj_cycles": cycles * energy}
    return usual | place | cost | others


def results_of(name: str, rows: Iterable[Row], metric: str = "edp", limits: Any = LIMITS) -> Results:
    return Results(name, tuple(rows), (), (), limits, metric)


def piece(cycles: int, energy: float, partitioning: str) -> Piece:
    """What `row` costs."""
    return pieces(results_of("x", [row("a", "fw", cycles, energy, partitioning=partitioning)]))[0]


ONE = results_of("one", [row("a", "fw", 8, 100.0, repeat=3), row("b", "fw", 2, 10.0), row("b", "wu", 4, 50.0)])
TWO = results_of("two", [row("a", "fw", 4, 50.0, repeat=3), row("b", "fw", 8, 20.0), row("b", "wu", 4, 25.0)])


def test_ratios_of_totals_and_geometric_means_are_those_by_hand() -> None:
    found = compare([side(ONE), side(TWO)])
    lines = {(line.phase, line.name): line for line in found.totals}
    assert list(lines) == [(p, n) for p in ("fw", "wu", "all") for n in ("one", "two")]
    forward = lines["fw", "two"]
    assert (forward.layers, forward.layers_repeated) == (2, 4)
    assert (forward.cost.cycles, forward.cost.energy_pj) == (3 * 4 + 8, 3 * 50.0 + 20.0)
    assert forward.ratios == {
        "speedup": (3 * 8 + 2) / 20,
        "energy_saving": 310 / 170,
        "edp_gain": (26 * 310) / (20 * 170),
        "utilization_gain": pytest.approx((32 / (20 * 4)) / (32 / (26 * 4))),
    }
    # a is twice as fast and there three times, b a quarter as fast: (2 * 2 * 2 * 1/4) to the power of 1/4
    assert forward.means["speedup"] == pytest.approx(2 ** (1 / 4))
    assert forward.means["energy_saving"] == pytest.approx((2**3 / 2) ** (1 / 4))
    assert forward.means["edp_gain"] == pytest.approx(2 ** (3 / 4)), "the product of the other two"
    both = lines["all", "two"]
    assert both.ratios["speedup"] == (3 * 8 + 2 + 4) / (3 * 4 + 8 + 4)
    assert both.means["speedup"] == pytest.approx((2**3 * (6 / 12)) ** (1 / 4)), "b is 6 cycles against 12"


def test_a_run_against_itself_has_ratios_of_exactly_one_and_a_second_name() -> None:
    found = compare([side(ONE), side(ONE)])
    assert [one.name for one in found.sides] == ["one", "one (2)"]
    assert {value for line in found.totals for value in (*line.ratios.values(), *line.means.values())} == {1.0}
    assert {value for line in found.layers for value in line.ratios.values()} == {1.0}


def test_another_baseline_inverts_the_ratios() -> None:
    forth, back = compare([side(ONE), side(TWO)]), compare([side(ONE), side(TWO)], "two")
    for a, b in zip(forth.totals[1::2], back.totals[::2], strict=True):
        for measure in MEASURES:
            assert a.ratios[measure.ratio] == pytest.approx(1 / (b.ratios[measure.ratio] or 0))
    with pytest.raises(InputError, match=r"--baseline: nothing compared is called 'tow' \(did you mean 'two'\?\)"):
        compare([side(ONE), side(TWO)], "tow")


def test_what_one_of_them_lacks_is_compared_nowhere_and_named_with_the_reason() -> None:
    parts = [row("b", "wu", 1, 1.0, "1/2"), row("c", "fw", 1, 1.0)]
    half = results_of("half", [row("a", "fw", 4, 50.0, repeat=3), *parts])
    problems = {"failed": [{"ranking": "b fw 1/1 KN", "reason": "?"}], "unfinished": ["d e fw 1/1 KN"]}
    found = compare([side(ONE), side(half, manifest={"problems": problems})])
    assert found.places == (("a", "fw"),)
    text = comparison_text(found)
    assert "left out, no mapping of every part in half: b fw, b wu\n" in text
    assert "left out, not searched in one: c fw\n" in text
    assert text.endswith("left out, not searched in one and no mapping of every part in half: d e fw")
    assert found.totals[0].cost.cycles == 24


def test_nothing_in_common_is_an_error_that_says_what_lacks() -> None:
    with pytest.raises(InputError, match=r"in all of them: one, other \(a fw is not in other\)"):
        compare([side(ONE), side(results_of("other", [row("z", "fw", 1, 1.0)]))])
    with pytest.raises(InputError, match="one design alone has nothing to be compared with"):
        compare([side(ONE)])


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"macs": 16}, r"a fw is not the same work: 8 MACs in one, 16 in two \(batch 1 and batch 2\)"),
        ({"repeat": 2}, r"a fw is not the same work: 3 times in one, 2 in two"),
    ],
)
def test_other_work_is_refused(others: dict[str, Any], message: str) -> None:
    two = results_of("two", [row("a", "fw", 8, 100.0, **({"repeat": 3} | others))])
    with pytest.raises(InputError, match=message):
        compare([side(ONE, manifest={"batch": 1}), side(two, manifest={"batch": 2})])


def test_of_each_part_the_best_partitioning_by_the_metric_of_the_run_is_taken() -> None:
    rows = [
        row("a", "fw", 10, 1.0, "1/2", "CK"),
        row("a", "fw", 4, 3.0, "1/2", "KN"),
        row("a", "fw", 5, 5.0, "2/2", "CK"),
        row("a", "fw", 5, 5.0, "2/2", "KN"),
    ]
    for metric, names, cycles in (("edp", "CK", 15), ("energy", "CK", 15), ("cycles", "KN+CK", 9)):
        found = results_of("x", rows, metric)
        line = compare([side(found), side(found)]).layers[0]
        assert (line.partitionings, line.cost.cycles) == (names, cycles), metric
    only = compare([side(results_of("x", rows), ["kn"]), side(results_of("x", rows))])
    assert (only.layers[0].partitionings, only.layers[0].cost.cycles) == ("KN", 9)
    with pytest.raises(InputError, match=r"--partition: no partitioning 'CN' there"):
        side(results_of("x", rows), ["CN"])


def test_partitionings_of_a_run_stand_side_by_side_with_the_best_of_each_layer_last() -> None:
    rows = [row("a", "fw", 4, 2.0, partitioning="CK"), row("a", "fw", 2, 2.0, partitioning="KN")]
    rows += [row("b", "fw", 1, 2.0, partitioning="CK"), row("b", "fw", 2, 2.0, partitioning="KN")]
    found = compare(by_partitioning(results_of("x", rows)), by="partitioning")
    assert [(line.name, line.cost.cycles) for line in found.totals[:3]] == [("CK", 5), ("KN", 4), ("best", 3)]
    with pytest.raises(InputError, match="x has one partitioning to compare: KN"):
        by_partitioning(results_of("x", rows), ["KN"])


def test_phases_are_compared_layer_by_layer_although_their_work_may_differ() -> None:
    rows = [row("a", "fw", 4, 2.0), row("a", "wu", 8, 2.0, macs=9), row("b", "fw", 4, 2.0)]
    found = compare(by_phase(side(results_of("x", rows))), by="phase")
    text = comparison_text(found, layers=True)
    assert found.totals[1].ratios["speedup"] == 0.5
    assert "left out, not searched in wu: b" in text
    assert "the phases differ in work, too: MACs are 8 in fw, 9 in wu" in text
    assert [line["phase"] for line in comparison_table(found).rows] == ["fw", "wu"]


def test_a_ratio_without_a_value_is_none_and_takes_the_mean_with_it() -> None:
    nothing = results_of("nothing", [row("a", "fw", 0, 0.0, repeat=3), row("b", "fw", 2, 10.0)], limits={})
    found = compare([side(ONE), side(nothing)])
    assert found.layers[1].ratios == dict.fromkeys(found.layers[1].ratios), "8 cycles against none"
    assert found.layers[3].ratios["speedup"] == 1.0
    assert set(found.totals[1].means.values()) == {None}
    for write in ("csv", "json"):
        assert FORMATS[write](comparison_table(found))
    assert "    -" in comparison_text(found)
    assert geometric_mean([]) is None
    assert geometric_mean([(0.0, 1), (2.0, 1)]) is None


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"cycles": None}, "a fw 1/1 KN: cycles is not there"),
        ({"cycles": "many"}, "a fw 1/1 KN: cycles is 'many'"),
        ({"energy_pj": math.nan}, "a fw 1/1 KN: energy_pj is nan"),
        ({"part": "1"}, "a fw 1 KN: '1' is no part"),
    ],
)
def test_a_row_that_no_search_wrote_is_refused(others: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"one: {message}.*this is no table of mapper search"):
        side(results_of("one", [row("a", "fw", 1, 1.0) | others]))


def test_what_makes_runs_less_comparable_is_told() -> None:
    other = results_of("two", [row("a", "fw", 4, 50.0, network="web")], "energy", LIMITS | {"clock_ghz": 1.0})
    inputs = [{"option": "--masks", "sha256": "0123456789abcdef"}]
    manifest = {"batch": 4, "zeros": {"masks": "m.npz"}, "constraints": ["GLB: C<=8"], "inputs": inputs}
    plain = {"batch": 2, "zeros": {}, "constraints": []}
    assert differences([side(ONE, manifest=plain), side(ONE, name="same", manifest=plain)]) == []
    assert differences([side(ONE, manifest=plain), side(other, manifest=manifest)]) == [
        "not the same network: net in one; web in two",
        "not the same batch: 2 in one; 4 in two",
        "not the same densities: dense in one; masks m.npz 01234567 in two",
        "not the same metric: edp in one; energy in two",
        "not the same constraints: none in one; GLB: C<=8 in two",
        "not the same clock (GHz): not told in one; 1.0 in two",
    ]


def test_mappings_that_are_not_proven_are_told() -> None:
    guess = results_of("guess", [row("a", "fw", 4, 50.0, repeat=3, optimal=False), row("b", "fw", 8, 20.0)])
    text = comparison_text(compare([side(ONE), side(guess)]))
    assert "guess: 1 of 2 mappings are not proven to be optimal" in text


def test_titles_say_which_partitioning_a_side_stands_for() -> None:
    found = compare([side(ONE, manifest={"batch": 2}), side(TWO)])
    best = "every part of a layer takes the best partitioning"
    assert title(found) == f"net, batch 2: designs one, two; {best} by edp"
    assert title(found, "KN") == "net, batch 2: designs one, two, partitioning KN"
    assert title(found, "CK,KN") == f"net, batch 2: designs one, two; {best} of CK, KN by edp"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (1.0, "1.000"), (0.01234, "0.0123"), (12345.6, "1.23e+04"), (0.0, "0")]
)
def test_ratios_are_written_with_digits_that_say_something(value: float | None, text: str) -> None:
    assert ratio(value) == text


def test_totals_of_a_real_run_are_compared_to_the_last_digit(tmp_path: Path) -> None:
    tiny.write(tmp_path)
    found = results(run(tiny.plan(tmp_path, phases=tuple(Phase))))
    table = comparison_table(compare(by_partitioning(found), by="partitioning"))
    mine = {(line["phase"], line["name"]): line for line in table.rows}
    assert len(mine) == len(found.totals) == 12
    for total in found.totals:
        line = mine[total["phase"], total["partitioning"]]
        for column in ("macs", "effectual_macs", "cycles", "energy_pj", "edp_pj_cycles", "utilization", "layers"):
            assert line[column] == total[column], (total["phase"], total["partitioning"], column)
    assert mine["fw", "KN"]["layers_repeated"] == 5
    rows = layers_table(compare(by_partitioning(found), by="partitioning")).rows
    assert {row["repeat"] for row in rows if row["layer"] == "twin"} == {3}


def test_a_run_without_limits_has_no_utilization_but_all_else() -> None:
    for limits in ({}, {"compute": "?"}, {"compute": {"units": None}}):
        found = compare([side(replace(ONE, limits=limits)), side(TWO)])
        assert found.totals[1].ratios["utilization_gain"] is None
        assert found.totals[1].ratios["speedup"] == 1.3
