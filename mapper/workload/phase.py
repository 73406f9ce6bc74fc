"""The phases of training, and the parts a layer has in each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product

from mapper.errors import InputError, did_you_mean, expect
from mapper.workload.einsum import Einsum, Rank, Tensor, Term
from mapper.workload.window import Walk, Window


class Phase(StrEnum):
    """`fw` forward, `bw` gradient of the input (backward-data), `wu` gradient of the weights (weight update)."""

    fw = "fw"
    bw = "bw"
    wu = "wu"

    @classmethod
    def parse(cls, text: str) -> Phase:
        """The phase that `text` names, by its own name or an alias (`forward`, `dgrad`, `wgrad` ...)."""
        expect(text, str, "a phase", "fw, bw or wu")
        word = text.strip().lower().replace("-", "").replace("_", "").replace(" ", "")
        if word not in ALIASES:
            raise InputError(f"no phase '{text}'", hint=did_you_mean(word, ALIASES))
        return ALIASES[word]


def parse_phases(text: str | None, where: str | None = None) -> tuple[Phase, ...]:
    """The phases of a list such as `fw,bw`, in the order of training; all for None. `where` the list was given."""
    if text is None:
        return tuple(Phase)
    words = text.replace(",", " ").split()
    if not words:
        raise InputError("no phase is given", where, "fw,bw,wu")
    asked = {Phase.parse(word) for word in words}
    return tuple(phase for phase in Phase if phase in asked)


TITLES = {Phase.fw: "forward", Phase.bw: "backward-data", Phase.wu: "weight update"}
"""What the phases are called in full."""

ALIASES: dict[str, Phase] = {
    **dict.fromkeys(("fw", "forward", "fwd", "fprop"), Phase.fw),
    **dict.fromkeys(("bw", "backward", "bwd", "bprop", "dgrad", "backwarddata", "datagradient"), Phase.bw),
    **dict.fromkeys(("wu", "wgrad", "weightupdate", "weightgradient", "backwardweight", "backwardweights"), Phase.wu),
}
"""Names of the phases, without case, hyphens and underscores."""


@dataclass(frozen=True)
class Part:
    """One einsum of a phase, the `index`-th (from 1) of `count`.

    `axes` are its walks along height and width: what P and R, then Q and S, run over. An einsum that is no layer has
    none.
    """

    phase: Phase
    index: int
    count: int
    einsum: Einsum
    axes: tuple[Walk, ...] = ()

    @property
    def label(self) -> str:
        """`2/4`, as the tables print it."""
        return f"{self.index}/{self.count}"


@dataclass(frozen=True)
class Sizes:
    """Bounds of a layer's loops outside its planes: batch (or rows) N, groups G, and K and C of one group."""

    N: int
    G: int
    K: int
    C: int

    @property
    def product(self) -> int:
        return self.N * self.G * self.K * self.C


@dataclass(frozen=True)
class Operands:
    """Names of a layer's forward operands, and whose bits the plain one has: W, or I where it is an activation."""

    plain: str = "W"
    sliding: str = "I"
    plain_data: str = "W"


@lru_cache(maxsize=1024)
def lower(phase: Phase, sizes: Sizes, vertical: Window, horizontal: Window, operands: Operands) -> tuple[Part, ...]:
    """The einsums of `phase`, residues of the height before those of the width.

    With W and I the operands, and per residue of the input its own P, Q (rows, columns) and R, S (taps):

        fw  O[N,G,K,P,Q]  += W[G,K,C,R,S] * I[N,G,C,u*P+d*R,u*Q+d*S]
        bw  dI[N,G,C,P,Q] += W[G,K,C,R,S] * dO[N,G,K,P+e*R,Q+e*S]
        wu  dW[G,K,C,R,S] += I[N,G,C,P,Q] * dO[N,G,K,P+e*R,Q+e*S]
    """
    if phase is Phase.fw:
        axes = [(vertical.forward, horizontal.forward)]
    else:
        axes = list(product(vertical.gradients, horizontal.gradients))
    return tuple(
        Part(phase, i, len(axes), _einsum(phase, f"{phase} {i}/{len(axes)}", sizes, pair, operands), pair)
        for i, pair in enumerate(axes, 1)
    )


def _einsum(phase: Phase, name: str, sizes: Sizes, axes: tuple[Walk, Walk], operands: Operands) -> Einsum:
    v, h = axes
    filters = _plain("GKCRS")
    weight = Tensor(operands.plain, filters, "W", operands.plain_data)
    gradient = _sliding("dO", "K", "O", sizes, axes)
    if phase is Phase.fw:
        pair = weight, _sliding(operands.sliding, "C", "I", sizes, axes)
        output = Tensor("O", _plain("NGKPQ"), "O", "O")
    elif phase is Phase.bw:
        pair = weight, gradient
        output = Tensor(f"d{operands.sliding}", _plain("NGCPQ"), "O", "I")
    else:
        pair = Tensor(operands.sliding, _plain("NGCPQ"), "W", "I"), gradient
        output = Tensor(f"d{operands.plain}", filters, "O", operands.plain_data)
    planes = (("P", len(v.plane)), ("Q", len(h.plane)), ("R", len(v.taps)), ("S", len(h.taps)))
    bounds = (("N", sizes.N), ("G", sizes.G), ("K", sizes.K), ("C", sizes.C), *planes)
    return Einsum(bounds, pair, output, macs=sizes.product * v.macs * h.macs, name=name)


def _plain(dimensions: str) -> tuple[Rank, ...]:
    return tuple((Term(1, dimension),) for dimension in dimensions)


def _sliding(name: str, channels: str, data: str, sizes: Sizes, axes: tuple[Walk, Walk]) -> Tensor:
    """A tensor of the sliding role over N, G, its channels and the two planes."""
    v, h = axes
    planes = ((Term(v.step, "P"), Term(v.reach, "R")), (Term(h.step, "Q"), Term(h.reach, "S")))
    images = sizes.N * sizes.G * (sizes.K if channels == "K" else sizes.C)
    padding = images * (v.touched * h.touched - v.stored * h.stored)
    stored = (None, None, None, *(_stored(walk) for walk in axes)) if padding else ()
    return Tensor(name, (*_plain(f"NG{channels}"), *planes), "I", data, padding, stored)


def _stored(walk: Walk) -> tuple[int, int] | None:
    """The positions of the walk's sliding rank, counted from its first, that exist; None where all do."""
    return (-walk.origin, walk.size - walk.origin) if walk.stored < walk.touched else None
