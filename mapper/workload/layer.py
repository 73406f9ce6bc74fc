"""Layers: convolutions, linear layers and products of two activations, as einsums of eight dimensions.

Every layer lowers to loops over N, G, K, C, P, Q, R, S (K and C of one group, bounds of 1 included), one einsum per
phase, or several where a stride splits a gradient by residues: its *parts* (`mapper.workload.phase`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self, cast

from mapper.errors import InputError
from mapper.workload import geometry
from mapper.workload.einsum import Einsum
from mapper.workload.phase import Operands, Part, Phase, Sizes, lower
from mapper.workload.window import POINT, Window

Pair = int | tuple[int, int]
"""One number for both axes, or (height, width)."""

Padding = int | tuple[int, int] | tuple[int, int, int, int] | str
"""One number, (height, width), (top, bottom, left, right), or "same" (see `window.same_padding`)."""

DERIVED = cast(int, None)
"""Default of a size that the constructor derives from the others; after construction it is a number."""


@dataclass(frozen=True, kw_only=True)
class Layer(ABC):
    """One layer of a network. All counts are of one instance; `repeat` says how many equal ones there are."""

    name: str = ""
    repeat: int = 1
    input_gradient: bool = True
    """False where nothing trainable lies before the layer, so that its bw phase is not needed."""

    def __post_init__(self) -> None:
        self._check_counts("repeat")

    @property
    @abstractmethod
    def macs(self) -> int:
        """Multiply-accumulates of the forward phase."""

    @property
    @abstractmethod
    def weights(self) -> int:
        """Words of trained weights, biases not included."""

    @property
    @abstractmethod
    def biases(self) -> int:
        """Words of trained biases."""

    @abstractmethod
    def parts(self, phase: Phase | str) -> tuple[Part, ...]:
        """The parts of `phase`, in a fixed order: one for most layers, several for a strided gradient."""

    @abstractmethod
    def with_batch(self, batch: int) -> Self:
        """The same layer for `batch` times as many samples."""

    def einsums(self, phase: Phase | str) -> tuple[Einsum, ...]:
        """The einsums of `phase`, one per part."""
        return tuple(part.einsum for part in self.parts(phase))

    def phases(self, input_gradients: bool = False) -> tuple[Phase, ...]:
        """The phases that training needs; `input_gradients` asks for bw even where the network needs none."""
        return tuple(p for p in Phase if p is not Phase.bw or self.input_gradient or input_gradients)

    @property
    def label(self) -> str:
        """The layer in messages: its name, or what it is."""
        return self.name or type(self).__name__

    def _check_counts(self, *fields: str) -> None:
        for name in fields:
            _settle(self, **{name: geometry.count(self.label, name, getattr(self, name))})


@dataclass(frozen=True, kw_only=True)
class ThreePhaseLayer(Layer):
    """A layer whose three phases are loops over the same eight dimensions."""

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """Bounds of N and G, and of K and C of one group."""

    vertical: Window = field(default=POINT, init=False, repr=False, compare=False)
    """The axis of P and R."""
    horizontal: Window = field(default=POINT, init=False, repr=False, compare=False)
    """The axis of Q and S."""

    @property
    def operands(self) -> Operands:
        return Operands()

    def parts(self, phase: Phase | str) -> tuple[Part, ...]:
        return lower(Phase.parse(phase), self.sizes, self.vertical, self.horizontal, self.operands)

    @property
    def macs(self) -> int:
        return self.sizes.product * self.vertical.forward.macs * self.horizontal.forward.macs

    @property
    def weights(self) -> int:
        return self.sizes.G * self.sizes.K * self.sizes.C * self.vertical.taps * self.horizontal.taps

    @property
    def input_words(self) -> int:
        """Words of the sliding operand as stored, without padding: N x channels x height x width."""
        return self.sizes.N * self.sizes.G * self.sizes.C * self.vertical.size * self.horizontal.size

    @property
    def output_words(self) -> int:
        """Words of the output: N x channels x height x width."""
        return self.sizes.N * self.sizes.G * self.sizes.K * self.vertical.outputs * self.horizontal.outputs


@dataclass(frozen=True, kw_only=True)
class Conv2d(ThreePhaseLayer):
    """A convolution of N images of C channels by K filters of R x S taps, per group where there are several.

    Of the input (H, W) and the output (P, Q) one is enough per axis; an input not given is
    `stride*(P-1) + dilation*(R-1) + 1 - padding`. Depthwise is `groups` = C = K. After construction every size is a
    number, `stride` and `dilation` are (height, width), `padding` is (top, bottom, left, right).

    >>> Conv2d(C=3, K=64, R=7, S=7, H=224, W=224, stride=2, padding=3).P
    112
    """

    C: int
    """Input channels, over all groups."""
    K: int
    """Output channels, over all groups."""
    R: int
    """Filter height."""
    S: int
    """Filter width."""
    H: int = DERIVED
    """Input height, without padding."""
    W: int = DERIVED
    """Input width, without padding."""
    P: int = DERIVED
    """Output height."""
    Q: int = DERIVED
    """Output width."""
    N: int = 1
    """Batch."""
    stride: Pair = 1
    dilation: Pair = 1
    groups: int = 1
    padding: Padding = 0
    bias: bool = False
    """One trained bias per output channel."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts("N", "C", "K", "R", "S", "groups")
        geometry.check_groups(self.label, self.groups, self.C, self.K)
        strides = geometry.pair(self.label, "stride", self.stride)
        dilations = geometry.pair(self.label, "dilation", self.dilation)
        pads = geometry.padding(self.label, self.padding)
        heights = geometry.Steps(self.R, strides[0], dilations[0])
        widths = geometry.Steps(self.S, strides[1], dilations[1])
        v = geometry.window(self.label, geometry.VERTICAL, heights, self.H, self.P, pads and pads[:2])
        h = geometry.window(self.label, geometry.HORIZONTAL, widths, self.W, self.Q, pads and pads[2:])
        geometry.check_parts(self.label, v, h)
        _settle(self, stride=strides, dilation=dilations, padding=(v.begin, v.end, h.begin, h.end))
        _settle(self, H=v.size, W=h.size, P=v.outputs, Q=h.outputs, vertical=v, horizontal=h)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.N, self.groups, self.K // self.groups, self.C // self.groups)

    @property
    def biases(self) -> int:
        return self.K if self.bias else 0

    def with_batch(self, batch: int) -> Self:
        return replace(self, N=self.N * geometry.count(self.label, "batch", batch))


@dataclass(frozen=True, kw_only=True)
class Linear(ThreePhaseLayer):
    """A fully connected layer: N rows (samples, or tokens) of C features to K features.

    >>> Linear(C=512, K=10, N=16).macs
    81920
    """

    C: int
    """Input features."""
    K: int
    """Output features."""
    N: int = 1
    """Rows: samples, or samples x tokens."""
    bias: bool = False
    """One trained bias per output feature."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts("N", "C", "K")

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.N, 1, self.K, self.C)

    @property
    def biases(self) -> int:
        return self.K if self.bias else 0

    def with_batch(self, batch: int) -> Self:
        return replace(self, N=self.N * geometry.count(self.label, "batch", batch))


@dataclass(frozen=True, kw_only=True)
class Matmul(ThreePhaseLayer):
    """A product of two activations, Z[M,N] = A[M,K] * B[K,N], as in attention.

    It has no weights: A, the first operand, stands in their place and B in the input's. In the dimensions of layers M
    becomes K, the reduction K becomes C, and N stays N: O[N,K] += A[K,C] * B[N,C]. Its bw is the gradient of B, its
    wu that of A. The batch multiplies `repeat` where the product is one per sample (`batched`), else the columns N
    of B, which then share A.

    >>> Matmul(M=128, N=128, K=64, repeat=12, batched=True).with_batch(2).repeat
    24
    """

    M: int
    """Rows of A."""
    N: int
    """Columns of B."""
    K: int
    """The reduction: columns of A, rows of B."""
    batched: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_counts("M", "N", "K")

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.N, 1, self.M, self.K)

    @property
    def operands(self) -> Operands:
        return Operands("A", "B", plain_data="I")

    @property
    def weights(self) -> int:
        return 0

    @property
    def biases(self) -> int:
        return 0

    def with_batch(self, batch: int) -> Self:
        if self.batched:
            return replace(self, repeat=self.repeat * geometry.count(self.label, "batch", batch))
        return replace(self, N=self.N * geometry.count(self.label, "batch", batch))


@dataclass(frozen=True, kw_only=True)
class EinsumLayer(Layer):
    """Any einsum in a layer's place. It says nothing of training: its only phase is fw, and it counts no weights."""

    einsum: Einsum

    @classmethod
    def parse(cls, text: str) -> EinsumLayer:
        """Read an einsum with its bounds, as `Einsum.parse` does; the text is the name."""
        return cls(name=text.strip(), einsum=Einsum.parse(text))

    @property
    def macs(self) -> int:
        return self.einsum.macs

    @property
    def weights(self) -> int:
        return 0

    @property
    def biases(self) -> int:
        return 0

    def phases(self, input_gradients: bool = False) -> tuple[Phase, ...]:  # noqa: ARG002
        return (Phase.fw,)

    def parts(self, phase: Phase | str) -> tuple[Part, ...]:
        if (asked := Phase.parse(phase)) is not Phase.fw:
            raise InputError(f"{self.label}: an einsum has no phase {asked}", hint="fw")
        return (Part(Phase.fw, 1, 1, replace(self.einsum, name="fw 1/1")),)

    def with_batch(self, batch: int) -> Self:
        if geometry.count(self.label, "batch", batch) != 1:
            raise InputError(f"{self.label}: batch {batch} of an einsum", hint="state the batch in its bounds")
        return self


def _settle(layer: Layer, **values: object) -> None:
    """Set fields of a frozen layer under construction."""
    for name, value in values.items():
        object.__setattr__(layer, name, value)
