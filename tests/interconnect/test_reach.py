"""Where words go because halves are exchanged, against a walk over every point and against figures of a real layer."""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mapper.cost import Evaluation
from mapper.errors import InputError
from mapper.interconnect.exchange import PE, Exchange, Half, Pair, exchange_of
from mapper.interconnect.reach import Extra, Reach, destinations, exchange_table, extra_of, extras
from mapper.report.exchange_figure import Panel, draw
from tests.interconnect.oracle_exchange import CK, KN, WIDE_CK, Walk, exchanged, exchanging_case, small


@pytest.mark.parametrize("seed", range(60))
def test_random_cases_are_what_a_walk_over_all_points_finds(seed: int) -> None:
    case, evaluation, exchange = exchanging_case(seed)
    walk = Walk(evaluation, exchange, case.masks[exchange.tensor.name])
    for extra in extras(exchange):
        assert extra == walk.extra(extra.tensor), case
        words = Counter[tuple[frozenset[PE], frozenset[PE]]]()
        for one in destinations(exchange, exchange.einsum.tensor(extra.tensor), 0):
            words[one.before, one.after] += one.words
        assert words == walk.destinations(extra.tensor, 0), case


def test_random_cases_are_of_all_kinds() -> None:
    """Some flows lose their one dimension: else the test above shows little."""
    found = [extra for seed in range(60) for extra in extras(exchanging_case(seed)[-1])]
    assert any(e.one_dimensional_before and not e.one_dimensional_after for e in found)


# Partitionings of a convolution --------------------------------------------------------------------------------------


@cache
def found(mapping: str, balance: str = "half_tile") -> tuple[Evaluation, dict[str, Extra], Exchange]:
    evaluation, exchange = exchanged(mapping, balance)
    return evaluation, {extra.tensor: extra for extra in extras(exchange)}, exchange


def same_ways(extra: Extra) -> bool:
    """Whether every figure is the same before and after."""
    return (
        extra.rows_before == extra.rows_after
        and extra.columns_before == extra.columns_after
        and extra.deliveries_before == extra.deliveries_after
        and extra.held_before == extra.held_after
        and extra.one_dimensional_before == extra.one_dimensional_after
    )


def test_half_tile_under_kn_exchanges_along_k_and_keeps_every_flow() -> None:
    evaluation, extra, exchange = found(KN)
    assert (exchange.dimension, exchange.axes, exchange.drawn) == ("K", ("x",), True)
    assert exchange.moved_halves > 0
    assert all(same_ways(one) and one.one_dimensional_after for one in extra.values())
    assert (extra["W"].columns_after, extra["W"].rows_after) == (Reach(1.0, 1), Reach(16.0, 16))
    assert (extra["I"].columns_after, extra["I"].rows_after) == (Reach(16.0, 16), Reach(1.0, 1))
    assert (extra["O"].columns_after, extra["O"].rows_after) == (Reach(1.0, 1), Reach(1.0, 1))
    for name, one in extra.items():
        assert one.held_before.most == evaluation.tiles["RF", name]
        assert (one.extra_deliveries, one.extra_held) == (0, 0)


def test_half_tile_under_nk_exchanges_along_the_rows() -> None:
    _, extra, exchange = found(KN.replace("X: K16 | Y: N16", "X: N16 | Y: K16"))
    assert exchange.axes == ("y",)
    assert all(same_ways(one) for one in extra.values())


def test_global_balancing_under_ck_sends_inputs_to_more_columns_and_sums_from_more_rows() -> None:
    evaluation, extra, exchange = found(CK, "global")
    assert (exchange.dimension, exchange.axes) == ("K", ("x", "y"))
    assert same_ways(extra["W"])
    inputs, sums = extra["I"], extra["O"]
    assert (inputs.columns_before, inputs.rows_before) == (Reach(1.0, 1), Reach(16.0, 16))
    assert (sums.columns_before, sums.rows_before) == (Reach(16.0, 16), Reach(1.0, 1))
    assert inputs.columns_after.mean > 8
    assert sums.rows_after.mean > 4
    for one in (inputs, sums):
        assert one.one_dimensional_before
        assert not one.one_dimensional_after
        assert one.held_before.most == evaluation.tiles["RF", one.tensor]
    # A PE with halves of different input channels needs all inputs of both.
    assert inputs.extra_held == evaluation.tiles["RF", "I"]
    assert 1.8 < inputs.deliveries_after / inputs.deliveries_before < 2
    # Sums are halves of those of two PEs, now and then of the same output channels.
    assert sums.deliveries_after <= sums.deliveries_before


def test_halves_of_input_channels_double_the_sums_in_place_of_the_inputs() -> None:
    evaluation, extra, exchange = found(WIDE_CK, "global")
    assert exchange.dimension == "C"
    assert extra["I"].columns_after.mean > 4
    assert extra["I"].extra_held == 0
    assert extra["O"].rows_after.mean > 4
    assert extra["O"].extra_held == evaluation.tiles["RF", "O"]
    assert not extra["I"].one_dimensional_after
    assert not extra["O"].one_dimensional_after


def test_the_table_has_a_row_per_tensor_with_every_figure() -> None:
    evaluation, extra, _ = found(CK, "global")
    rows = exchange_table(evaluation)
    assert [row["tensor"] for row in rows] == ["W", "I", "O"]
    assert [row["partial_sums"] for row in rows] == [False, False, True]
    inputs = rows[1]
    assert inputs["columns_after_mean"] == extra["I"].columns_after.mean
    assert inputs["columns_after_max"] == extra["I"].columns_after.most
    assert inputs["extra_deliveries"] == extra["I"].extra_deliveries
    assert inputs["extra_held"] == extra["I"].extra_held
    assert inputs["one_dimensional_after"] is False
    assert len({tuple(row) for row in rows}) == 1


# Odd corners ----------------------------------------------------------------------------------------------------------


def test_two_front_halves_of_odd_tiles_are_more_words_than_a_tile() -> None:
    """Tiles of three filters are cut in two and one. Halves 8 1 | 0 4: 8 goes with 0, 4 with 1; 1 and 0 travel."""
    mask = np.array([[i < n for i in range(4)] for n in (4, 4, 1, 0, 0, 4)])
    formula, mapping = "O[K,N] += W[K,C] * I[C,N]; K=6 C=4 N=2", "DRAM: | GLB: | X: K2 | RF: K3 C4 N2"
    assert exchange_of(small(formula, mapping, mask, "half_tile", 2, 1)) is None
    exchange = exchange_of(small(formula, mapping, mask, "half_tile_uneven", 2, 1))
    assert exchange is not None
    assert exchange.words.tolist() == [[[8, 4], [8, 4]]]
    assert exchange.pairs(0) == (
        Pair((0, 0), (Half((0, 0), 0, 8, 8), Half((1, 0), 0, 8, 0))),
        Pair((1, 0), (Half((0, 0), 1, 4, 1), Half((1, 0), 1, 4, 4))),
    )
    weights, inputs, sums = extras(exchange)
    assert (weights.held_before, weights.held_after, weights.extra_held) == (Reach(12.0, 12), Reach(12.0, 16), 4)
    assert (inputs.held_before, inputs.held_after) == (Reach(8.0, 8), Reach(8.0, 8))
    assert (sums.held_before, sums.held_after, sums.extra_held) == (Reach(6.0, 6), Reach(6.0, 8), 2)
    assert (sums.deliveries_before, sums.deliveries_after) == (12, 12)


def test_masks_too_large_to_look_at_at_once_are_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    _, extra, exchange = found(WIDE_CK, "global")
    monkeypatch.setattr("mapper.interconnect.reach.AT_ONCE", 1)
    assert extra_of(exchange, exchange.einsum.tensor("I")) == extra["I"]


# The figure and the script --------------------------------------------------------------------------------------------

SCRIPT = Path(__file__).parents[2] / "scripts" / "reproduce_interconnect.py"


def test_the_figure_is_the_same_each_time_and_refuses_a_set_that_is_not_there() -> None:
    mask = np.array([[i < n for i in range(4)] for n in (4, 3, 1, 0, 0, 4, 2, 2)])
    formula, mapping = "O[K,N] += W[K,C] * I[C,N]; K=8 C=4 N=2", "DRAM: K2 | GLB: | X: K2 | Y: N2 | RF: K2 C4"
    exchange = exchange_of(small(formula, mapping, mask, "half_tile", 2, 2))
    assert exchange is not None
    panels = [Panel("one", exchange, "I"), Panel("another", exchange, "O")]
    drawn = draw(panels, working_set=1)
    assert drawn.startswith(b"\x89PNG")
    assert int.from_bytes(drawn[16:20]) == 7 * 150
    assert drawn == draw(panels, working_set=1) != draw(panels)
    svg = draw(panels[:1], form="svg").decode()
    assert "<svg" in svg
    with pytest.raises(InputError, match="no working set 2"):
        draw(panels, working_set=2)


def test_the_script_prints_flows_and_exchange_and_writes_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("reproduce_interconnect", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "PHASES", ("fw",))
    result = CliRunner().invoke(script.main, ["--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    flows, exchange = (
        list(csv.DictReader((tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("flows", "exchange")
    )
    assert [(row["partitioning"], row["one-dimensional"]) for row in flows] == [
        ("CK", "True"), ("KN", "True"), ("CN", "True"), ("PQ", "False"),
    ]  # fmt: skip
    lost = {(row["partitioning"], row["tensor"]) for row in exchange if row["one-dimensional"] == "False"}
    assert lost == {("CK", "I"), ("CK", "O")}
    assert {row["partitioning"] for row in exchange} == {"CK", "KN", "CN"}, "P,Q does not spread the weights"
    assert (tmp_path / "interconnect_exchange.png").read_bytes().startswith(b"\x89PNG")
    assert "W multicast column" in result.output
