"""Random cases with zeros: a case of `tests/strategies.py`, masks of some operands, and hardware that minds them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mapper.arch.accelerator import Accelerator, Fanout
from mapper.arch.zeros import BALANCES, Format, Zeros
from mapper.mapping.loopnest import Nests
from mapper.workload.einsum import Einsum, Tensor
from tests.oracle_zeros import Masks, spans
from tests.strategies import Case, make_case, random_case

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ZeroCase:
    """One loop nest, the masks of some of its operands, and what the hardware does about zeros."""

    dense: Case
    masks: Masks
    zeros: Zeros
    balance: str = "none"

    @property
    def einsum(self) -> Einsum:
        return self.dense.einsum

    @property
    def nests(self) -> Nests:
        return self.dense.nests

    @property
    def multicast(self) -> tuple[tuple[bool, bool], ...]:
        return self.dense.multicast

    @property
    def accelerator(self) -> Accelerator:
        """The hardware without its policies: they are in `zeros`."""
        return self.dense.accelerator

    def __str__(self) -> str:
        """Everything that decides the counts: what a failing test prints."""
        fanouts = [(level.fanout.x.lanes, level.fanout.y.lanes) for level in self.accelerator.levels]
        skip, gate = (",".join(sorted(roles)) or "-" for roles in (self.zeros.skip, self.zeros.gate))
        lines = [str(self.dense), f"  fan-outs {fanouts}  skip {skip}  gate {gate}  balance {self.balance}"]
        lines += [f"  {level} {role} as {_brief(stored)}" for (level, role), stored in self.zeros.formats]
        lines += [f"  {name} {'x'.join(map(str, m.shape))}: {_picture(m)}" for name, m in self.masks.items()]
        lines += [f"  {t.name} is stored in {t.stored}" for t in self.einsum.operands if any(t.stored)]
        return "\n".join(lines)


def _brief(stored: Format) -> str:
    figures = {name: getattr(stored, name) for name in ("block", "pointer_bits", "run_bits", "n", "m")}
    return " ".join([stored.kind, *(f"{name}={figure}" for name, figure in figures.items() if figure)])


def _picture(mask: Mask) -> str:
    """Rows of the last axis as ones and dots."""
    rows = mask.reshape(-1, mask.shape[-1] if mask.ndim else 1)
    return " ".join("".join(".1"[bit] for bit in row) for row in rows.astype(int))


def make_zero_case(
    formula: str,
    mapping: str,
    masks: Mapping[str, object],
    zeros: Zeros | None = None,
    *,
    balance: str = "none",
    keeps: tuple[str, ...] = (),
) -> ZeroCase:
    """A case by hand; masks as anything that NumPy reads as an array of zeros and ones."""
    arrays = {name: np.asarray(mask).astype(bool) for name, mask in masks.items()}
    return ZeroCase(make_case(formula, mapping, keeps), arrays, zeros or Zeros(), balance)


def random_zero_case(rng: random.Random) -> ZeroCase:
    """A case whose first operand is plain; it has a mask, the others sometimes do."""
    wants_work = rng.random() < 0.7
    while True:
        case = random_case(rng)
        if rng.random() < 0.8:
            case = without_spare_lanes(case)
        if all(len(rank) == 1 for rank in case.einsum.operands[0].ranks) and (_has_work(case) or not wants_work):
            break
    masks = {
        tensor.name: random_mask(rng, case.einsum, tensor)
        for place, tensor in enumerate(case.einsum.operands)
        if rng.random() < (0.55 if place else 0.95)
    }
    policies = {role: rng.choice(("skip", "skip", "skip", "gate", "none")) for role in ("W", "I")}
    skip, gate = (frozenset(role for role, policy in policies.items() if policy == p) for p in ("skip", "gate"))
    balance = rng.choice(BALANCES)
    zeros = Zeros(skip=skip, gate=gate, balance=balance, formats=tuple(_random_formats(rng, case, masks)))
    return ZeroCase(case, masks, zeros, balance)


def without_spare_lanes(case: Case) -> Case:
    """The same on fan-outs as wide as the loops."""
    levels = []
    for index, level in enumerate(case.accelerator.levels):
        x, y = (
            math.prod(
                int(factor)
                for slot, factor in zip(case.nests.slots, case.nests.factors[0], strict=True)
                if (slot.level, slot.kind) == (index, kind)
            )
            for kind in "xy"
        )
        fanout = Fanout(replace(level.fanout.x, lanes=x), replace(level.fanout.y, lanes=y))
        levels.append(replace(level, fanout=fanout))
    return replace(case, accelerator=replace(case.accelerator, levels=tuple(levels)))


def _has_work(case: Case) -> bool:
    """Whether the first operand has a work tile: the innermost level that keeps it is private, several words each."""
    first = case.einsum.operands[0]
    innermost = max(level for level, kept in enumerate(case.nests.keeps) if level == 0 or first.name in kept)
    private = all(level.fanout.lanes == 1 for level in case.accelerator.levels[innermost:])
    slots = zip(case.nests.slots, case.nests.factors[0], strict=True)
    return private and any(
        slot.level >= innermost and factor > 1 and slot.dimension in first.dimensions for slot, factor in slots
    )


def dense_twin(case: ZeroCase) -> ZeroCase:
    """The same with no zero in any mask: hardware that finds nothing to do."""
    return replace(case, masks={name: np.ones_like(mask) for name, mask in case.masks.items()})


def random_mask(rng: random.Random, einsum: Einsum, tensor: Tensor) -> Mask:
    """Scattered, clumpy, in empty slices, full, empty; sometimes zero wherever the tensor has padding."""
    shape, numbers = spans(einsum, tensor), np.random.default_rng(rng.getrandbits(32))
    density = rng.choice((rng.random(), rng.random(), 0.1, 0.5))
    mask = np.asarray(numbers.random(shape) < density)
    kind = rng.choice(("scattered", "scattered", "clumpy", "slices", "slices", "full", "empty"))
    if kind == "clumpy":
        edges = [rng.randint(1, max(1, extent)) for extent in shape]
        clumps = numbers.random([math.ceil(n / edge) for n, edge in zip(shape, edges, strict=True)]) < density
        mask = np.asarray(clumps[np.ix_(*(np.arange(n) // edge for n, edge in zip(shape, edges, strict=True)))])
    elif kind == "slices" and shape:
        axis = rng.randrange(len(shape))
        kept = numbers.random(shape[axis]) < 0.5
        mask = mask & kept.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    elif kind in ("full", "empty"):
        mask = np.full(shape, kind == "full")
    return _without_padding(tensor, mask) if rng.random() < 0.5 else mask


def _without_padding(tensor: Tensor, mask: Mask) -> Mask:
    inside = np.zeros_like(mask)
    windows = [tensor.window(rank) for rank in range(mask.ndim)]
    inside[tuple(slice(None) if window is None else slice(*window) for window in windows)] = True
    return np.asarray(mask & inside)


def _random_formats(rng: random.Random, case: Case, masks: Masks) -> list[tuple[tuple[str, str], Format]]:
    chance = rng.choice((0.0, 0.4, 0.8))
    found = []
    for level, names in enumerate(case.nests.keeps):
        for role in ("W", "I"):
            kept = [t.name for t in case.einsum.operands if t.role == role and t.name in names]
            if kept and rng.random() < chance:
                stored = _random_format(rng, [masks[name] for name in kept if name in masks])
                found.append(((case.accelerator.level_names[level], role), stored))
    return found


def _random_format(rng: random.Random, masks: list[Mask]) -> Format:
    """Any that fits the masks: N of every M words are stored, so N:M is their density."""
    kinds = [
        Format("bitmask"),
        Format("csb", block=rng.choice((None, 1, 2, 3, 9)), pointer_bits=rng.choice((8, 20))),
        Format("rle", run_bits=rng.randint(1, 5)),
        Format("coordinate"),
    ]
    densities = {Fraction(int(mask.sum()), mask.size) for mask in masks}
    if len(densities) == 1 and 0 < min(densities) < 1:
        kinds += [Format("n_m", n=density.numerator, m=density.denominator) for density in densities] * 2
    return rng.choice(kinds)
