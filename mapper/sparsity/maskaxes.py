"""Axes of masks: which axis of an array is which dimension of the weights, and their order in here.

Files hold all output channels of a layer in one axis and the input channels of one group in another, as PyTorch does:
K, C, R, S in some declared order, K and C of a linear layer. In here weights are G, K, C, R, S with K of one group,
the order of the tensor W in `mapper.workload.phase`; consecutive output channels form a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError, did_you_mean, expect
from mapper.workload.layer import ThreePhaseLayer

AXES = "KCRS"
"""The order that is taken where none is declared: PyTorch's."""

OTHER_NAMES = {"O": "K", "I": "C", "H": "R", "W": "S"}
"""Axes as TensorFlow and XLA call them: HWIO is RSCK."""

_MAY_BE_LEFT_OUT = "SRG"
"""Axes that an array need not have where their extent is 1, the first to go first."""


@dataclass(frozen=True)
class WeightSizes:
    """Extents of a layer's weights: groups, K over all groups, C of one group, filter."""

    G: int
    K: int
    C: int
    R: int
    S: int

    @classmethod
    def of(cls, layer: ThreePhaseLayer) -> WeightSizes:
        sizes = layer.sizes
        return cls(sizes.G, sizes.G * sizes.K, sizes.C, layer.vertical.taps, layer.horizontal.taps)

    @property
    def stored(self) -> tuple[int, ...]:
        """Shape as files hold it by default: K, C, R, S."""
        return self.K, self.C, self.R, self.S

    @property
    def canonical(self) -> tuple[int, ...]:
        """Shape in here: G, K of one group, C, R, S."""
        return self.G, self.K // self.G, self.C, self.R, self.S

    def shape(self, axes: str) -> tuple[int, ...]:
        """Shape of an array with these axes; K is of one group where G is an axis of its own."""
        extents = {"G": self.G, "K": self.K, "C": self.C, "R": self.R, "S": self.S}
        if "G" in axes:
            extents["K"] //= self.G
        return tuple(extents[axis] for axis in axes)

    def expected(self, axes: str, ranks: int) -> str:
        """`axes` without as many axes of extent 1 as an array of `ranks` axes must lack."""
        for axis in _MAY_BE_LEFT_OUT:
            if len(axes) > ranks and axis in axes and self.shape(axis) == (1,):
                axes = axes.replace(axis, "")
        return axes


def parse_axes(text: str) -> str:
    """Declared axes in this tool's letters: each of K, C, R, S once, and perhaps G. Raises `InputError`.

    >>> parse_axes("HWIO")
    'RSCK'
    """
    expect(text, str, "an order of axes", "text such as KCRS or RSCK")
    axes = text.strip().upper()
    if set(axes) == set(OTHER_NAMES):
        axes = "".join(OTHER_NAMES[axis] for axis in axes)
    if sorted(axes) in (sorted(AXES), sorted(f"G{AXES}")):
        return axes
    near = did_you_mean(axes, [*("".join(p) for p in permutations(AXES)), "OIHW", "HWIO"]) or ""
    hint = near if near.startswith("did") else "K, C, R and S in the order of the file: KCRS, RSCK"
    raise InputError(f"axes '{text}'", where="axes", hint=hint)


def matched_axes(shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, WeightSizes], axes: str) -> dict[str, str]:
    """The axes that each array has if they are declared as `axes`; an error that names an order that fits, if any."""
    found: dict[str, str] = {}
    for name, shape in shapes.items():
        found[name] = sizes[name].expected(axes, len(shape))
        if sizes[name].shape(found[name]) != tuple(shape):
            raise _mismatch(name, shapes, sizes, axes)
    return found


def to_canonical(array: NDArray[Any], axes: str, sizes: WeightSizes) -> NDArray[Any]:
    """`array` with `axes`, in the order G, K, C, R, S."""
    order = "GKCRS" if "G" in axes else AXES
    present = [axis for axis in order if axis in axes]
    return np.transpose(array, [axes.index(axis) for axis in present]).reshape(sizes.canonical)


def _fits(shape: tuple[int, ...], sizes: WeightSizes, axes: str) -> bool:
    return sizes.shape(sizes.expected(axes, len(shape))) == tuple(shape)


def _mismatch(
    name: str, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, WeightSizes], axes: str
) -> InputError:
    """Both shapes, and the order of the declared axes that fits: one that fits every array goes first."""
    given, wanted = tuple(shapes[name]), sizes[name].shape(sizes[name].expected(axes, len(shapes[name])))
    message = f"{name}: given {given}, but {axes} is {wanted}"
    # In the order of KCRS, so that R stays before S where a square filter leaves it open.
    orders = ["".join(order) for order in permutations(sorted(axes, key="GKCRS".index))]
    fitting = [order for order in orders if _fits(given, sizes[name], order)]
    fitting.sort(key=lambda order: not all(_fits(shape, sizes[other], order) for other, shape in shapes.items()))
    if fitting:
        return InputError(f"{message}; it matches if axes are {fitting[0]}", hint=f"--axes {fitting[0]}")
    layer = " ".join(f"{axis}={extent}" for axis, extent in zip(AXES, sizes[name].stored, strict=True))
    return InputError(f"{message}; no order of the axes matches", hint=f"the layer's weights have {layer}")
