"""Figures of one mapping: who works before and after balancing, and where there is nothing to show."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from mapper.arch.zeros import Zeros
from mapper.cost import Evaluation, evaluate_one
from mapper.interconnect.exchange import exchange_of
from mapper.report.figures import imbalance_entries, mapping_figures
from mapper.report.figures.balanced import loads_of
from mapper.sparsity.density import Density, Uniform
from mapper.sparsity.placement import Numbers
from mapper.sparsity.zeros import Sparsity
from tests.compare_zeros import evaluated
from tests.report.figures.rows import texts
from tests.strategies_zeros import ZeroCase, make_zero_case

FORMULA = "O[K,N] += W[K,C] * I[C,N]; K=8 N=6 C=3"
MAPPING = "L0: K2 N2 | X: K2 | Y: N3 | L1: K2 C3"
"""Each column has two filters of a working set; the first two working sets are filters 0 to 3."""


def case_of(mask: object, balance: str = "half_tile", text: str = MAPPING) -> ZeroCase:
    zeros = Zeros(skip=frozenset("W"), balance=balance)
    return make_zero_case(FORMULA, text, {"W": mask}, zeros, balance=balance)


def some_mask(seed: int = 0) -> Numbers:
    return np.random.default_rng(seed).random((8, 3)) < 0.5


def of_density(density: Density, balance: str = "half_tile") -> Evaluation:
    case = case_of(np.ones((8, 3)), balance)
    accelerator = replace(case.accelerator, zeros=case.zeros)
    return evaluate_one(case.nests, accelerator, Sparsity((("W", density),), balance))


def stepped(evaluation: Evaluation) -> Numbers:
    """Nonzeros that each PE works off, pair by pair, times the visits: two rounds of N, one sample each."""
    exchange = exchange_of(evaluation)
    assert exchange is not None
    out = np.zeros((2, 3), dtype=np.int64)
    for working_set in range(exchange.sets):
        for pair in exchange.pairs(working_set):
            out[pair.pe] += 2 * pair.nonzeros
    return out


@pytest.mark.parametrize("seed", range(20))
def test_after_balancing_pes_work_off_the_pairs_they_get(seed: int) -> None:
    evaluation = evaluated(case_of(some_mask(seed)))
    loads = loads_of(evaluation)
    assert loads.after is not None
    assert (loads.after == stepped(evaluation)).all()
    assert loads.after.sum() == loads.before.sum() == evaluation.effectual_macs


def test_half_tiles_by_hand() -> None:
    """Of the first set column 0 has 3 + 3 nonzeros and column 1 none: a half goes over. The second set is even."""
    mask = np.zeros((8, 3))
    mask[:2] = 1
    mask[4:, 0] = 1
    loads = loads_of(evaluated(case_of(mask)))
    assert loads.before.tolist() == [[16] * 3, [4] * 3]
    assert loads.after is not None
    assert sorted(loads.after[:, 0].tolist()) == [10, 10]


@pytest.mark.parametrize("balance", ["none", "ideal"])
def test_without_halves_there_is_no_work_after_balancing(balance: str) -> None:
    loads = loads_of(evaluated(case_of(some_mask(), balance)))
    assert (loads.after, loads.balances, loads.expected) == (None, False, False)


def test_of_a_density_the_work_before_balancing_is_expected() -> None:
    loads = loads_of(of_density(Uniform(0.25)))
    assert (loads.after, loads.balances, loads.expected) == (None, True, True)
    assert loads.before == pytest.approx(np.full((2, 3), 6.0))


def test_the_figures_of_a_balanced_mapping_show_both() -> None:
    evaluation = evaluated(case_of(some_mask()))
    found = mapping_figures(evaluation)
    assert tuple(found) == ("work", "imbalance")
    assert found == mapping_figures(evaluation)
    work = texts(found["work"])
    assert {"column (K)", "row (N)", "effectual MACs per PE", "mean of all PEs"} <= set(work)
    # A panel and a line of each.
    assert work.count("before balancing") == work.count("after balancing") == 2
    imbalance = texts(found["imbalance"])
    assert any(text.startswith("before balancing: mean ") for text in imbalance)
    assert any(text.startswith("after balancing (half_tile): mean ") for text in imbalance)


def test_imbalance_before_and_after_is_that_of_the_model() -> None:
    evaluation = evaluated(case_of(some_mask()))
    (before, first), (after, second) = imbalance_entries(evaluation)
    assert (before, after) == ("before balancing", "after balancing (half_tile)")
    bare = evaluated(case_of(some_mask(), "none"))
    assert evaluation.imbalance is not None
    assert bare.imbalance is not None
    assert (first == bare.imbalance.distribution).all()
    assert (second == evaluation.imbalance.distribution).all()
    assert [name for name, _ in imbalance_entries(bare)] == ["no balancing"]


def test_a_mapping_that_nothing_tells_apart_has_no_figures() -> None:
    dense = evaluated(case_of(np.ones((8, 3))))
    assert mapping_figures(dense) == {}
    assert imbalance_entries(dense) == ()


def test_idle_pes_and_padding_are_named() -> None:
    case = make_zero_case("O[K,N] += W[K,C] * I[C,N]; K=5 N=2 C=3", "L0: K2 | X: N2 | Y: K3 | L1: C3", {})
    first = case.accelerator.levels[0]
    wider = replace(first, fanout=replace(first.fanout, x=replace(first.fanout.x, lanes=20)))
    accelerator = replace(case.accelerator, levels=(wider, *case.accelerator.levels[1:]))
    found = evaluate_one(case.nests, accelerator)
    assert "work, 54 idle (grey)" in texts(mapping_figures(found)["work"])
    assert "MACs per PE" in texts(mapping_figures(found)["work"])
    fewer = replace(found, macs=found.macs - 1)
    assert "points per PE" in texts(mapping_figures(fewer)["work"])


@pytest.mark.parametrize("seed", range(12))
def test_any_mapping_can_be_drawn(seed: int) -> None:
    from tests.strategies_zeros import random_zero_case

    found = mapping_figures(evaluated(random_zero_case(random.Random(seed))), "png")
    assert set(found) <= {"work", "imbalance"}
