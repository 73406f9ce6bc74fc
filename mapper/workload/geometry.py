"""What the fields of a layer mean: counts, pairs, padding and sizes, checked in the field's words."""

from __future__ import annotations

from math import gcd
from numbers import Integral
from typing import NamedTuple

from mapper.errors import InputError
from mapper.workload.einsum import LARGEST_BOUND, LARGEST_SPAN, divisors
from mapper.workload.window import Window, same_padding

WORDS = {
    "N": "batch N", "C": "input channels C", "K": "output channels K", "R": "filter height R", "S": "filter width S",
    "H": "input height H", "W": "input width W", "P": "output height P", "Q": "output width Q", "M": "rows M",
}  # fmt: skip
"""What a field is called in messages; the others by their own name."""

MOST_PARTS = 4096
"""Parts of a gradient: a stride of 64 by 64 has as many."""

PADDINGS = "one number, [height, width] or [top, bottom, left, right]"


class FieldError(InputError):
    """A field of a layer that cannot be; `field` is its name, so that a reader of files can point at it."""

    def __init__(self, owner: str, field: str, message: str, hint: str) -> None:
        self.field = field
        super().__init__(f"{owner}: {message}", hint=hint)


def count(owner: str, field: str, value: object, least: int = 1) -> int:
    """`value` as an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise FieldError(owner, field, f"{WORDS.get(field, field)} is {value!r}", f"an integer, {least} or more")
    whole = int(value)
    if whole > LARGEST_BOUND:
        raise FieldError(owner, field, f"{WORDS.get(field, field)} is {whole:,}", f"at most {LARGEST_BOUND:,}")
    return whole


def pair(owner: str, field: str, value: object) -> tuple[int, int]:
    """One number for both axes, or (height, width)."""
    if isinstance(value, list | tuple):
        if len(value) != 2:
            hint = "one number, or [height, width]"
            raise FieldError(owner, field, f"{field} {value!r} has {len(value)} values", hint)
        return count(owner, field, value[0]), count(owner, field, value[1])
    both = count(owner, field, value)
    return both, both


def padding(owner: str, value: object) -> tuple[int, int, int, int] | None:
    """(top, bottom, left, right) of one, two or four values or "valid"; None for "same", which needs the sizes."""
    if isinstance(value, str):
        if value.lower() not in ("same", "valid"):
            raise FieldError(owner, "padding", f"padding '{value}'", f"same, valid, {PADDINGS}")
        return None if value.lower() == "same" else (0, 0, 0, 0)
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if len(values) not in (1, 2, 4):
        raise FieldError(owner, "padding", f"padding {value!r} has {len(values)} values", PADDINGS)
    pads = [count(owner, "padding", v, least=0) for v in values]
    top, bottom, left, right = (pads[i * len(pads) // 4] for i in range(4))
    return top, bottom, left, right


def check_groups(owner: str, groups: int, C: int, K: int) -> None:
    """Groups divide both channel counts."""
    if C % groups or K % groups:
        nearest = min(divisors(gcd(C, K)), key=lambda g: abs(g - groups))
        raise FieldError(owner, "groups", f"groups {groups} do not divide C={C} and K={K}", f"nearest: {nearest}")


def check_parts(owner: str, vertical: Window, horizontal: Window) -> None:
    """The residues of the strides split a gradient into few enough parts: each is searched by itself."""
    parts = vertical.residues * horizontal.residues
    if parts > MOST_PARTS:
        strides = f"[{vertical.stride}, {horizontal.stride}]"
        raise FieldError(
            owner, "stride", f"stride {strides} splits a gradient into {parts:,} parts", f"at most {MOST_PARTS:,}"
        )


class Fields(NamedTuple):
    """Names of one axis' fields, and which way it lies."""

    input: str
    output: str
    taps: str
    way: str


VERTICAL = Fields("H", "P", "R", "height")
HORIZONTAL = Fields("W", "Q", "S", "width")


class Steps(NamedTuple):
    """Taps, stride and dilation along one axis."""

    taps: int
    stride: int
    dilation: int

    @property
    def span(self) -> int:
        return self.dilation * (self.taps - 1) + 1


def window(
    owner: str, fields: Fields, steps: Steps, size: int | None, outputs: int | None, pads: tuple[int, int] | None
) -> Window:
    """One axis of a convolution from its input size, its output size or both; `pads` None is SAME."""
    given = None if size is None else count(owner, fields.input, size)
    wanted = None if outputs is None else count(owner, fields.output, outputs)
    if given is None:
        given, pads = _derive_input(owner, fields, steps, wanted, pads)
    begin, end = same_padding(given, *steps) if pads is None else pads
    axis = Window(given, *steps, begin, end)
    _check_fit(owner, fields, axis)
    if wanted not in (None, axis.outputs):
        raise FieldError(
            owner,
            fields.output,
            f"output {fields.way} {fields.output}={wanted} contradicts {fields.input}={given}: {steps.taps} taps, "
            f"stride {steps.stride}, dilation {steps.dilation}, padding {begin}+{end} make it {axis.outputs}",
            f"{fields.output}: {axis.outputs}",
        )
    return axis


def _derive_input(
    owner: str, fields: Fields, steps: Steps, outputs: int | None, pads: tuple[int, int] | None
) -> tuple[int, tuple[int, int]]:
    """stride*(P-1) + dilation*(R-1) + 1 - padding, and the padding."""
    if outputs is None:
        hint = f"give {fields.input} or {fields.output}"
        raise FieldError(owner, fields.input, f"neither input {fields.way} nor output {fields.way}", hint)
    extent = steps.stride * (outputs - 1) + steps.span
    if pads is None:
        pads = same_padding(steps.stride * outputs, *steps)
    size = extent - sum(pads)
    if size < 1:
        raise FieldError(
            owner,
            "padding",
            f"{fields.output}={outputs} with padding {pads[0]}+{pads[1]} leaves an input {fields.way} of {size}",
            f"padding at most {extent - 1} in sum",
        )
    return size, pads


def _check_fit(owner: str, fields: Fields, axis: Window) -> None:
    padded = axis.begin + axis.size + axis.end
    if padded > LARGEST_SPAN:
        message = f"the padded input {fields.way} {axis.begin}+{axis.size}+{axis.end} is {padded:,}"
        raise FieldError(owner, fields.input, message, f"at most {LARGEST_SPAN:,}")
    if axis.span > padded:
        most = (padded - 1) // axis.dilation + 1
        raise FieldError(
            owner,
            fields.taps,
            f"filter {fields.way} {fields.taps}={axis.taps}, dilation {axis.dilation}, spans {axis.span}, "
            f"more than the padded input {fields.way} {axis.begin}+{axis.size}+{axis.end} = {padded}",
            f"{fields.taps} at most {most}",
        )
