"""One axis of a convolution: which outputs meet which inputs through which taps, in each phase.

Output p and tap r read the input row

    h = u*p + d*r - begin            (u stride, d dilation, `begin` rows of padding in front)

Forward, the loops run over (p, r) and h slides. Turned round for the two gradients, the loops run over (h, r) and the
output row slides, p = (h + begin - d*r) / u, wherever that is whole. With g = gcd(u, d), a row of residue
a = (h + begin) mod u meets only the taps with d*r = a (mod u): none unless g divides a, else every (u/g)-th from the
first. Inside a residue neighbouring rows are u apart and neighbouring taps u/g apart, so p falls by e = d/g from one
tap to the next; walked from the far end of the filter it rises, and p = origin + i + e*t is again a sliding window.
So an axis of a gradient is one stride-1 walk per residue, and no slot of any of them multiplies an inserted zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import gcd


@dataclass(frozen=True)
class Walk:
    """What one einsum does along one axis.

    Loop index i of the plane (dimension P or Q) and t of the filter (R or S) meet position `origin + step*i + reach*t`
    of the sliding tensor, of which `size` positions, from 0, exist; the others are padding. `plane[i]` is the row of
    the accumulated or plain plane, `taps[t]` the filter's tap (descending where the filter is walked from its far end):
    masks are sliced by them. `macs` is what the layer needs along this axis, at most len(plane) * len(taps).
    """

    plane: range
    taps: range
    step: int
    reach: int
    origin: int
    size: int
    macs: int

    @cached_property
    def touched(self) -> int:
        """Distinct positions of the sliding tensor that the walk meets, padding included."""
        return sum(stop - start for _, start, stop in self._runs())

    @cached_property
    def stored(self) -> int:
        """Those of the touched positions that exist."""
        count = 0
        for remainder, start, stop in self._runs():
            first = max(start, -(remainder // self.step))
            last = min(stop, -((remainder - self.size) // self.step))
            count += max(last - first, 0)
        return count

    def _runs(self) -> Iterable[tuple[int, int, int]]:
        """The touched positions as disjoint runs (m, start, stop): m + step*j for j in range(start, stop).

        Taps a `period` apart have the same m, and their runs begin `apart` from each other.
        """
        common = gcd(self.step, self.reach)
        period, apart, length = self.step // common, self.reach // common, len(self.plane)
        for first in range(min(period, len(self.taps))):
            start, remainder = divmod(self.origin + self.reach * first, self.step)
            runs = len(range(first, len(self.taps), period))
            if length >= apart:
                yield remainder, start, start + apart * (runs - 1) + length
            else:
                yield from ((remainder, start + apart * i, start + apart * i + length) for i in range(runs))


@dataclass(frozen=True)
class Window:
    """One axis of a convolution: input rows, taps, stride, dilation and the padding in front and behind."""

    size: int
    taps: int
    stride: int = 1
    dilation: int = 1
    begin: int = 0
    end: int = 0

    @property
    def span(self) -> int:
        """Rows from the first to the last tap."""
        return self.dilation * (self.taps - 1) + 1

    @property
    def outputs(self) -> int:
        """Output rows."""
        return (self.begin + self.size + self.end - self.span) // self.stride + 1

    @property
    def residues(self) -> int:
        """Walks that a gradient has at most."""
        return min(self.stride // gcd(self.stride, self.dilation), self.taps, self.size)

    @cached_property
    def forward(self) -> Walk:
        """The loops over (p, r): the input slides."""
        plane, taps = range(self.outputs), range(self.taps)
        return Walk(plane, taps, self.stride, self.dilation, -self.begin, self.size, len(plane) * len(taps))

    @cached_property
    def gradients(self) -> tuple[Walk, ...]:
        """The loops over (h, r), one walk per residue that has rows and taps: the gradient of the output slides."""
        period = self.stride // gcd(self.stride, self.dilation)
        firsts = {self.dilation * r % self.stride: r for r in range(min(period, self.taps))}
        return tuple(walk for a in sorted(firsts) if (walk := self._residue(a, firsts[a])) is not None)

    def _residue(self, a: int, first: int) -> Walk | None:
        """The rows with (h + begin) mod stride = a and their taps, every (stride/g)-th from `first` on."""
        common = gcd(self.stride, self.dilation)
        period = self.stride // common
        rows = range((a - self.begin) % self.stride, self.size, self.stride)
        if not rows:
            return None
        taps = range(first, self.taps, period)[::-1]
        origin = (rows[0] + self.begin - self.dilation * taps[0]) // self.stride
        macs = len(taps) * min(self.outputs, len(rows))
        return Walk(rows, taps, 1, self.dilation // common, origin, self.outputs, macs)


POINT = Window(1, 1)
"""The axis of a layer without a plane: one row, one tap."""


def same_padding(size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding (front, behind) of SAME: ceil(size / stride) outputs, the odd row behind.

    Source: TensorFlow, tf.nn, "Notes on padding".
    """
    outputs = -(-size // stride)
    total = max((outputs - 1) * stride + dilation * (taps - 1) + 1 - size, 0)
    return total // 2, total - total // 2
