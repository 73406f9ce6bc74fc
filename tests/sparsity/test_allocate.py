"""Densities of layers: every rule meets the network's density, and ERK is that of its authors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.errors import InputError
from mapper.sparsity.allocate import Densities, Shapes, erk, global_magnitude, one_density, uniform
from mapper.sparsity.synthetic import Recipe
from mapper.workload import Network, load_network

RULES = (uniform, erk, global_magnitude)

shapes = st.dictionaries(
    st.text("abc", min_size=1),
    st.tuples(st.integers(1, 64), st.integers(1, 64)) | st.tuples(*[st.integers(1, 64)] * 2, *[st.integers(1, 5)] * 2),
    min_size=1,
    max_size=6,
)


def overall(shapes: Shapes, densities: Densities, repeats: dict[str, int] | None = None) -> float:
    """Density of the network."""
    sizes = {name: math.prod(shape) * (repeats or {}).get(name, 1) for name, shape in shapes.items()}
    return sum(densities[name] * size for name, size in sizes.items()) / sum(sizes.values())


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(shapes, st.floats(0.0, 1.0))
def test_every_rule_meets_the_density_of_the_network(
    rule: type[object], shapes: dict[str, tuple[int, ...]], density: float
) -> None:
    found: Densities = rule(shapes, density)  # type: ignore[assignment, call-arg]
    assert all(0 <= value <= 1 for value in found.values())
    assert overall(shapes, found) == pytest.approx(density, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(shapes, st.floats(0.0, 1.0), st.integers(1, 5))
def test_repeated_layers_count_as_often_as_they_occur(
    shapes: dict[str, tuple[int, ...]], density: float, repeat: int
) -> None:
    repeats = {next(iter(shapes)): repeat}
    for rule in (erk, global_magnitude):
        assert overall(shapes, rule(shapes, density, repeats), repeats) == pytest.approx(density, abs=1e-9)


def dense_share(network: Network, densities: Densities) -> float:
    """Multiply-accumulates left of those of the dense network."""
    return sum(layer.macs * densities[layer.name] for layer in network) / network.macs


@pytest.mark.parametrize(
    ("density", "share", "conv1", "fc"), [(0.2, 0.414, 0.85716, 0.14827), (0.1, 0.242, 0.42002, 0.07265)]
)
def test_erk_of_resnet50_leaves_the_multiplications_of_its_authors(
    density: float, share: float, conv1: float, fc: float
) -> None:
    # Rigging the Lottery (ICML 2020) states 0.42 and 0.24; densities of layers by an implementation of its own, which
    # counts biases among the weights to be kept.
    network = load_network("resnet50")
    densities = Recipe("erk", density).densities(network)
    assert dense_share(network, densities) == pytest.approx(share, abs=5e-4)
    assert (densities["conv1"], densities["fc"]) == pytest.approx((conv1, fc), rel=1e-3)


def test_erk_by_hand() -> None:
    # Raw 0.5 and 0.1; e * (0.5 * 4 * 4 + 0.1 * 20 * 20) = 0.25 * 416, so e = 2.1667 and the first would pass 1.
    shapes = {"narrow": (4, 4), "wide": (20, 20)}
    found = erk(shapes, 0.25)
    assert found == {"narrow": 1.0, "wide": pytest.approx((0.25 * 416 - 16) / 400)}


def test_one_threshold_leaves_less_where_weights_start_small() -> None:
    found = global_magnitude({"a": (64, 576), "b": (64, 64)}, 0.1)
    # Standard deviations of sqrt(2 / 576) and sqrt(2 / 64): thrice as many of them fit under the threshold.
    threshold_a, threshold_b = (_deviations(found[name]) for name in ("a", "b"))
    assert threshold_a == pytest.approx(3 * threshold_b, rel=1e-9)


def _deviations(density: float) -> float:
    """t with P(|N(0, 1)| > t) = density."""
    from scipy.special import erfcinv

    return float(math.sqrt(2) * erfcinv(density))


@pytest.mark.parametrize(
    ("density", "sparsity", "found"),
    [(0.1, None, 0.1), ("10%", None, 0.1), (None, 0.9, 0.1), (None, "90%", 0.1), (0.1, 0.9, 0.1), (None, None, None)],
)
def test_density_and_sparsity_say_the_same(density: object, sparsity: object, found: float | None) -> None:
    assert one_density(density, sparsity) == found


@pytest.mark.parametrize(
    ("density", "sparsity", "message"),
    [
        (0.2, 0.9, "density 0.2 and sparsity 0.9 disagree (sparsity 0.8, or one)"),
        (None, 90, "sparsity: 90 is no density"),
        (None, -0.1, "sparsity: -0.1 is no density"),
        ("2:4", None, "density: '2:4' is not one number"),
    ],
)
def test_what_is_no_density_or_two_is_refused(density: object, sparsity: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        one_density(density, sparsity)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("density", [6.63, -0.1, math.nan, True])
def test_a_density_beyond_0_to_1_is_refused(rule: type[object], density: float) -> None:
    with pytest.raises(InputError, match="is no density"):
        rule({"a": (2, 2)}, density)  # type: ignore[call-arg]
