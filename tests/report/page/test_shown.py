"""Numbers on a page: four to six digits, and never another number than the one that is shown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given as with_values
from hypothesis import strategies as st

from mapper.report.page import shown


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (shown.count, 0, "0"),
        (shown.count, 1234567, "1,234,567"),
        (shown.count, 999_999_999_999, "999,999,999,999"),
        (shown.count, 36_894_380_941_824, "3.6894e13"),
        (shown.count, 940.8000000000001, "940.80"),
        (shown.measure, 0.0, "0"),
        (shown.measure, 12345.678, "12,346"),
        (shown.measure, 999.996, "1,000.0"),
        (shown.measure, 0.012345678, "0.012346"),
        (shown.measure, 0.00012345678, "1.2346e-4"),
        (shown.measure, 52887152655.5, "5.2887e10"),
        (shown.power, 1.252135494508364e18, "1.2521e18"),
        (shown.power, 5, "5.0000e0"),
        (shown.power, 0, "0"),
        (shown.percent, 0.12461554524808825, "12.46"),
        (shown.percent, 1, "100.00"),
        (shown.percent, 0.00012345, "0.01234"),
        (shown.percent, 0.0, "0"),
        (shown.ratio, 1.5068660763369086, "1.5069"),
        (shown.given, 0.346875, "0.346875"),
        (shown.given, 8.0, "8"),
    ],
)
def test_forms(form: shown.Form, value: float, text: str) -> None:
    assert form(value) == text


@with_values(st.floats(1e-12, 1e24), st.sampled_from([shown.measure, shown.power]))
def test_five_digits_are_within_half_of_the_last(value: float, form: shown.Form) -> None:
    text = form(value).replace(",", "")
    digits = text.partition("e")[0].replace(".", "").lstrip("0")
    assert len(digits) >= 5 or "." not in text
    assert abs(Decimal(text) / Decimal(value) - 1) <= Decimal("0.5e-4")


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([], "pJ"),
        ([0.0], "pJ"),
        ([999.0], "pJ"),
        ([1e3], "nJ"),
        ([1.0, 5e9, 8e11], "mJ"),
        ([0.0, 0.0, 0.0, 2e12], "J"),
        ([3e20], "J"),
    ],
)
def test_a_column_has_the_largest_unit_in_which_half_of_it_is_one(values: list[float], unit: str) -> None:
    assert shown.energy_unit(values).name == unit


def test_a_unit_scales() -> None:
    assert shown.energy_unit([52887152655.5]).form(52887152655.5) == "52.887"


@pytest.mark.parametrize(
    ("bits", "text"),
    [(30, "30 bits"), (64, "8 B"), (8192, "1 KiB"), (8192 * 3 // 2, "1,536 B"), (2**20, "128 KiB"), (2**24, "2 MiB")],
)
def test_capacities(bits: int, text: str) -> None:
    assert shown.capacity(bits) == text


def test_one_is_singular() -> None:
    assert [shown.counted(n, "layer") for n in (0, 1, 1660)] == ["0 layers", "1 layer", "1,660 layers"]
    assert shown.counted(2, "mapping was", "mappings were") == "2 mappings were"
