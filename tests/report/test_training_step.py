"""A training step: no choice that is left out is better, the freer is never worse, and what is fixed costs its sum."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from mapper.errors import InputError
from mapper.report.training_step import (
    COLUMNS,
    Option,
    least,
    step_layers_table,
    step_table,
    step_text,
    training_step,
)
from mapper.search.rows import Row
from tests.report.test_comparison import piece, results_of, row

METRICS = {"edp": "edp_pj_cycles", "energy": "energy_pj", "cycles": "cycles"}


def option(name: str, cycles: int, energy: float) -> Option:
    return Option(name, (piece(cycles, energy, name),))


def total(options: tuple[Option, ...], column: str) -> float:
    """Of a choice, summed by hand."""
    cycles, energy = sum(o.cycles for o in options), math.fsum(o.energy_pj for o in options)
    return {"cycles": cycles, "energy_pj": energy, "edp_pj_cycles": cycles * energy}[column]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("metric", METRICS)
def test_no_choice_of_all_that_there_are_is_better(metric: str, seed: int) -> None:
    draw = random.Random(seed)
    groups = [
        [option(f"P{i}", draw.randint(1, 12), float(draw.randint(1, 12))) for i in range(draw.randint(1, 4))]
        for _ in range(draw.randint(1, 5))
    ]
    found = tuple(least(groups, metric))
    assert all(one in group for one, group in zip(found, groups, strict=True))
    column = METRICS[metric]
    assert total(found, column) == min(total(choice, column) for choice in itertools.product(*groups))


def test_the_least_edp_of_a_step_is_not_that_of_its_layers() -> None:
    choices = [option("X", 10, 1.0), option("Y", 4, 3.0)]
    # By itself X is better: 10 * 1 against 4 * 3. So it is beside a layer that takes long: 30 * 2 against 24 * 4.
    assert [o.name for o in least([[option("a", 20, 1.0)], choices], "edp")] == ["a", "X"]
    # Beside one that takes much energy it is not: 11 * 31 against 5 * 33.
    assert [o.name for o in least([[option("a", 1, 30.0)], choices], "edp")] == ["a", "Y"]


def test_of_equal_options_the_first_by_name_is_taken() -> None:
    for metric in METRICS:
        assert [o.name for o in least([[option("B", 2, 2.0), option("A", 2, 2.0)]], metric)] == ["A"]


def rows() -> list[Row]:
    """Two layers, the second three times and with two parts in wu; CK is better for a, KN for b."""
    return [
        *(row("a", "fw", 10, 4.0, partitioning="CK"), row("a", "fw", 20, 5.0, partitioning="KN")),
        *(row("a", "wu", 30, 4.0, partitioning="CK"), row("a", "wu", 10, 9.0, partitioning="KN")),
        *(row("b", "fw", 9, 3.0, repeat=3, partitioning="CK"), row("b", "fw", 5, 2.0, repeat=3, partitioning="KN")),
        row("b", "wu", 2, 1.0, "1/2", "CK", repeat=3),
        row("b", "wu", 4, 1.0, "1/2", "KN", repeat=3),
        row("b", "wu", 8, 6.0, "2/2", "CK", repeat=3),
        row("b", "wu", 6, 1.0, "2/2", "KN", repeat=3),
    ]


def test_choices_of_a_step_are_those_by_hand() -> None:
    found = training_step(results_of("x", rows()))
    figures = {c.name: (c.taken.cycles, c.taken.energy_pj) for c in found.choices if c.taken}
    assert figures["CK"] == (10 + 30 + 3 * (9 + 2 + 8), 4 + 4 + 3 * (3 + 1 + 6))
    assert figures["KN"] == (20 + 10 + 3 * (5 + 4 + 6), 5 + 9 + 3 * (2 + 1 + 1))
    assert figures["least cycles"] == (10 + 10 + 3 * (5 + 2 + 6), 4 + 9 + 3 * (2 + 1 + 1))
    assert figures["least energy"] == (10 + 30 + 3 * (5 + 2 + 6), 4 + 4 + 3 * (2 + 1 + 1)), "of equals fewer cycles"
    # a wu under CK has 120 against 90, so by itself it takes KN. The step: 59 * 25 = 1475 against 79 * 20 = 1580.
    assert figures["best of each"] == figures["least edp"] == figures["least cycles"]
    # a under CK: (40 + 45) * (8 + 12) = 1700, under KN: (30 + 45) * (14 + 12) = 1950; b under KN in both.
    assert figures["one per layer"] == (40 + 45, 8 + 12)
    # fw CK or KN, wu KN: (10 + 27 + 40) * (4 + 9 + 9 + 6) against (20 + 15 + 40) * (5 + 6 + 9 + 6)
    assert figures["one per phase"] == (20 + 15 + 10 + 30, 5 + 6 + 9 + 6)
    assert found.phases == ("fw", "wu")
    assert found["one per layer"].partitionings("wu") == "CK+KN"
    assert found["one per layer"].partitionings("wu", "b") == "KN"


def test_losses_are_above_the_least_of_each_column_and_never_below_it() -> None:
    found = training_step(results_of("x", rows()))
    losses = {c.name: [found.loss(c, column) for column in COLUMNS] for c in found.choices}
    assert losses["least cycles"][0] == losses["least energy"][1] == losses["least edp"][2] == 0
    assert losses["KN"] == [75 / 59 - 1, 26 / 20 - 1, (75 * 26) / (59 * 25) - 1]
    assert all(loss is not None and loss >= 0 for each in losses.values() for loss in each)


def test_a_fixed_choice_that_beats_the_best_of_each_is_told() -> None:
    # b takes CK by itself: 3 * 3 against 10 * 1. Beside a it should not: 103 * 4 against 110 * 2.
    best, fixed = row("b", "fw", 3, 3.0, partitioning="CK"), row("b", "fw", 10, 1.0, partitioning="KN")
    huge = [row("a", "fw", 100, 1.0, partitioning=name) for name in ("CK", "KN")]
    found = training_step(results_of("x", [*huge, best, fixed]))
    text = step_text(found)
    assert "less edp than best of each: one per layer, one per phase, KN" in text
    assert "not in the step, as they were not searched: bw, wu" in text
    taken = found["best of each"].taken
    assert taken is not None
    assert (taken.cycles, taken.energy_pj) == (103, 4.0)
    assert found.loss(found["best of each"], "edp_pj_cycles") == 103 * 4 / 220 - 1


def test_a_partitioning_that_misses_a_part_is_no_choice_for_what_needs_it() -> None:
    found = training_step(results_of("x", [each for each in rows() if each["part"] != "2/2" or each["cycles"] != 8]))
    assert found["CK"].taken is None
    assert found["one per layer"].partitionings("wu", "b") == "KN"
    assert [line["cycles"] for line in step_table(found).rows if line["choice"] == "CK"] == [None]
    assert "-: some part has no mapping under CK" in step_text(found, layers=True)


def test_a_layer_that_misses_a_part_everywhere_is_left_out_and_named() -> None:
    found = training_step(results_of("x", [each for each in rows() if each["part"] != "2/2"]))
    assert found.left_out == (("b", "wu"),)
    assert "left out, no mapping of every part: b wu" in step_text(found)
    with pytest.raises(InputError, match="x has no layer with a mapping of every part"):
        training_step(results_of("x", [each for each in rows() if each["part"] == "1/2"]))


def test_one_partitioning_is_no_choice() -> None:
    with pytest.raises(InputError, match=r"x has one partitioning: KN \(search several"):
        training_step(results_of("x", rows()), ["kn"])


def test_a_step_of_nothing_is_refused_for_that() -> None:
    with pytest.raises(InputError, match="x has no mapping of what is asked for"):
        training_step(results_of("x", rows()), keeps=lambda piece: piece.phase == "bw")


def test_only_what_is_kept_is_in_the_step_and_the_metric_is_that_of_the_run() -> None:
    found = training_step(results_of("x", rows(), "energy"), keeps=lambda piece: piece.phase == "wu")
    assert found.metric == "energy"
    assert found["one per phase"].partitionings("wu") == "KN"
    assert "less energy than best of each" not in step_text(found)
    assert training_step(results_of("x", rows(), "pareto")).metric == "edp"


def test_tables_tell_every_choice_and_what_each_part_takes() -> None:
    found = training_step(results_of("x", rows()))
    table = step_table(found)
    assert table.columns == (
        *("choice", "cycles", "cycles_loss", "energy_pj", "energy_loss", "edp_pj_cycles", "edp_loss"),
        *("partitioning_fw", "partitioning_wu"),
    )
    parts = step_layers_table(found).rows
    assert len(parts) == len(table.rows) * 5
    for line in table.rows:
        mine = [part for part in parts if part["choice"] == line["choice"]]
        assert line["cycles"] == sum(part["repeat"] * part["cycles"] for part in mine)  # type: ignore[operator]
