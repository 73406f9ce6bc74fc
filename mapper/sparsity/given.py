"""What a user says about zeros, and what it means for one part of a layer.

Densities go by tensor: W weights, I activations, dO gradients of the output (and any other tensor of an einsum by its
name). One model holds for every layer, or each layer has its own. Masks are cut to the part: a strided gradient walks
some taps of the filter, or some rows and columns of the plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mapper.arch.zeros import BALANCES
from mapper.errors import InputError, did_you_mean
from mapper.sparsity.density import Actual, Structured, Vector, parse_density
from mapper.sparsity.masks import Masks
from mapper.sparsity.model import Bools, Density, Shape
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload import Einsum, Layer, Part
from mapper.workload.einsum import Rank, Tensor

Value = float | int | str | Density
Densities = Value | Mapping[str, "Value | Mapping[str, Value]"] | None
"""One density for the weights, or per tensor one, or per tensor one of each layer."""

WEIGHTS, ACTIVATIONS = "W", "I"
EVERY = ""
"""The layer that stands for all that are not named."""


@dataclass(frozen=True)
class ZerosGiven:
    """Densities per (tensor, layer), masks of the weights, and how work is balanced (None: as the hardware does)."""

    densities: tuple[tuple[tuple[str, str], Density], ...] = ()
    masks: Masks | None = None
    balance: str | None = None

    @classmethod
    def of(cls, density: Densities = None, masks: Masks | None = None, balance: str | None = None) -> ZerosGiven:
        """From what a user writes. Raises `InputError` with the value and the nearest valid one."""
        if balance is not None and balance not in BALANCES:
            raise InputError(f"no balancing '{balance}'", where="balance", hint=did_you_mean(balance, BALANCES))
        named = density if isinstance(density, Mapping) else {} if density is None else {WEIGHTS: density}
        found: dict[tuple[str, str], Density] = {}
        for tensor, value in named.items():
            layers = value if isinstance(value, Mapping) else {EVERY: value}
            for layer, each in layers.items():
                where = f"density of {tensor}" + (f" in {layer}" if layer else "")
                found[tensor, layer] = parse_density(each, where)
        if masks is not None and any(tensor == WEIGHTS for tensor, _ in found):
            raise InputError("masks and a density of the weights contradict each other", hint="give one of them")
        return cls(tuple(sorted(found.items(), key=lambda pair: pair[0])), masks, balance)

    @property
    def dense(self) -> bool:
        """Whether nothing is said about zeros."""
        return not self.densities and self.masks is None

    def check(self, layers: Sequence[Layer]) -> None:
        """Refuse densities of layers and tensors that the network does not have."""
        labels = [label for layer in layers for label in (layer.label, layer.name)]
        tensors = {
            t.name
            for layer in layers
            for phase in layer.phases(True)
            for p in layer.parts(phase)
            for t in p.einsum.tensors
        }
        for (tensor, layer), _ in self.densities:
            if layer and layer not in labels:
                raise InputError(f"density of {tensor} in '{layer}': no such layer", hint=did_you_mean(layer, labels))
            if tensor not in tensors and tensor != WEIGHTS:
                raise InputError(f"density of {tensor}: no such tensor", hint=did_you_mean(tensor, sorted(tensors)))

    def sparsity(self, layer: Layer, part: Part) -> Sparsity:
        """Densities of the tensors of one part; dense ones are left out: they cost what they cost without."""
        found = []
        for tensor in part.einsum.tensors:
            density = self._of(layer, part, tensor)
            if density is not None and not density.is_dense:
                found.append((tensor.name, density))
        return Sparsity(tuple(found), self.balance) if found else DENSE

    def _of(self, layer: Layer, part: Part, tensor: Tensor) -> Density | None:
        name = tensor.name
        if not part.axes and tensor == part.einsum.operands[0] and not self._given(layer, name):
            # An einsum's first operand stands for the weights.
            name = WEIGHTS
        if name == WEIGHTS and self.masks is not None:
            mask = self.masks.for_layer(layer.name)
            return None if mask is None else sliced(mask, part, tensor)
        if name == ACTIVATIONS and not layer.input_gradient and (name, layer.label) not in dict(self.densities):
            # What needs no gradient is the input of the network, not an activation.
            return None
        density = self._given(layer, name)
        return None if density is None else fitted(density, part, tensor)

    def _given(self, layer: Layer, tensor: str) -> Density | None:
        known = dict(self.densities)
        keys = ((tensor, layer.label), (tensor, layer.name), (tensor, EVERY))
        return next((known[key] for key in keys if key in known), None)


ALL_DENSE = ZerosGiven()
"""Nothing is said about zeros."""


def fitted(density: Density, part: Part, tensor: Tensor) -> Density | None:
    """A model on the tensor of one part: N:M along its reduction, a mask cut to the part; None: it cannot apply."""
    if isinstance(density, Structured):
        place = reduction(part.einsum, tensor)
        extents = shape_of(part.einsum, tensor)
        # N:M needs whole groups: a layer of three input channels stays dense.
        return None if place is None or extents[place] % density.m else density.along(place)
    if isinstance(density, Actual):
        return sliced(density, part, tensor)
    if isinstance(density, Vector) and len(density.values) != shape_of(part.einsum, tensor)[density.axis]:
        raise InputError(
            f"{len(density.values)} densities along dimension {density.axis} of {tensor}",
            hint=f"it has {shape_of(part.einsum, tensor)[density.axis]}",
        )
    return density


def shape_of(einsum: Einsum, tensor: Tensor) -> Shape:
    """Extents of a tensor's dimensions in declared order."""
    return tuple(einsum.extent[term.dimension] for rank in tensor.ranks for term in rank)


def reduction(einsum: Einsum, tensor: Tensor) -> int | None:
    """Place of the dimension that N:M patterns run along: input channels of weights, else the first one summed over."""
    dimensions = [term.dimension for rank in tensor.ranks for term in rank]
    if tensor.data == WEIGHTS and "C" in dimensions and "K" in dimensions:
        return dimensions.index("C")
    return next((i for i, d in enumerate(dimensions) if d in einsum.reductions), None)


def sliced(mask: Actual, part: Part, tensor: Tensor) -> Actual:
    """The words of a layer's mask that a part walks, in the part's order.

    Weights have axes G, K, C, R, S; activations and gradients N, G, C (or K), rows, columns.
    """
    if not part.axes:
        return _checked(mask.array, tuple(_span(part.einsum, rank) for rank in tensor.ranks), tensor)
    array = mask.array
    if array.ndim != len(tensor.ranks):
        raise InputError(f"mask of {tensor}: {array.ndim} axes {array.shape}", hint=f"{len(tensor.ranks)} axes")
    for axis, walk in zip((array.ndim - 2, array.ndim - 1), part.axes, strict=True):
        if tensor.role == "I":
            array = _window(array, axis, walk.origin, _span(part.einsum, tensor.ranks[axis]))
        else:
            steps = walk.taps if tensor.data == WEIGHTS else walk.plane
            array = np.take(array, np.array(steps), axis=axis) if steps != range(array.shape[axis]) else array
    return _checked(array, tuple(_span(part.einsum, rank) for rank in tensor.ranks), tensor)


def _span(einsum: Einsum, rank: Rank) -> int:
    return 1 + sum(term.coefficient * (einsum.extent[term.dimension] - 1) for term in rank)


def _window(array: Bools, axis: int, origin: int, span: int) -> Bools:
    """Positions origin ... origin + span of an axis; padding is zero."""
    moved = np.moveaxis(array, axis, 0)
    out = np.zeros((span, *moved.shape[1:]), dtype=bool)
    first, last = max(origin, 0), min(origin + span, len(moved))
    if last > first:
        out[first - origin : last - origin] = moved[first:last]
    return np.moveaxis(out, 0, axis)


def _checked(array: Bools, shape: Shape, tensor: Tensor) -> Actual:
    if array.shape != shape:
        raise InputError(f"mask of {tensor} has shape {array.shape}", hint=f"{shape}")
    frozen = np.ascontiguousarray(array)
    frozen.flags.writeable = False
    return Actual(frozen)
