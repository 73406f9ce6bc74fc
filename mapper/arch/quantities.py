"""What a value of an accelerator's file may be: positive, a count, a name, a role, a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from mapper.errors import did_you_mean

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
"""Names that the one-line mapping can carry."""
LARGEST, SMALLEST = 1e30, 1e-30
"""Of any physical quantity: products of them stay finite."""


def _not_tiny(value: float) -> float:
    if value < SMALLEST:
        raise ValueError(f"expected {SMALLEST:g} or more, found {value:g}")
    return value


Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False), AfterValidator(_not_tiny)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=NAME)]
Source = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), Field(description="where the numbers come from")
]
Role = Literal["W", "I", "O"]


def known(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """A check that a text is one of `names`; the error has the nearest."""

    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"no {what} '{value}' ({did_you_mean(value, names)})")
        return value

    return check
