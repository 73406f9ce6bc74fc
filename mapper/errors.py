"""Errors as data: what was found, where it stands, and the nearest thing that would have been valid.

Every failure a user can cause is a `MapperError`; the command line turns it into one message and an exit code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapper.search.nofit import NoFit


class MapperError(Exception):
    """Root of everything a user can cause; `exit_code` is what the command line returns."""

    exit_code = 2


class InputError(MapperError):
    """A file, an option or an argument that cannot be used.

    `where` is `file:line` (or the option's name), `hint` the nearest valid value or the lever to pull.
    """

    def __init__(self, message: str, where: str | None = None, hint: str | None = None) -> None:
        self.message, self.where, self.hint = message, where, hint
        super().__init__(message)

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head} ({self.hint})" if self.hint else head


class MappingError(InputError):
    """A mapping that does not describe an execution of this einsum on this accelerator."""


class InfeasibleError(MapperError):
    """No mapping fits: `reasons` counts, per buffer or axis, how many tilings it excludes.

    `diagnosis` adds the nearest miss and the smallest change that lets one fit; None where a single mapping was asked
    for.
    """

    exit_code = 1

    def __init__(self, message: str, reasons: dict[str, int] | None = None, diagnosis: NoFit | None = None) -> None:
        self.reasons, self.diagnosis = reasons or {}, diagnosis
        super().__init__(message)


class MapperWarning(UserWarning):
    """Something odd that stops no work, such as two values that contradict: it says which one counts."""


def expect(value: object, kinds: type | tuple[type, ...], what: str, hint: str) -> None:
    """Refuse an argument of another type than `kinds`; `what` says what was wanted, `hint` how to come by it."""
    if not isinstance(value, kinds):
        text = repr(value)
        raise InputError(f"{text if len(text) <= 60 else text[:57] + '...'} is not {what}", hint=hint)


def did_you_mean(value: object, valid: Iterable[object]) -> str | None:
    """`did you mean 'x'?` for the nearest of `valid`, or the whole short list; None where `valid` is empty."""
    choices = [str(v) for v in valid]
    lowered = {c.lower(): c for c in reversed(choices)}
    near = difflib.get_close_matches(str(value).lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"did you mean '{lowered[near[0]]}'?"
    return f"one of: {', '.join(choices)}" if choices else None
