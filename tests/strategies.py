"""Random cases: an einsum, one loop nest of it, and an accelerator that runs it.

`random_case(rng)` is a plain function of a `random.Random`: property tests draw the seed, the fuzzer counts it up.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.mapping.loopnest import LevelLoops, LoopNest, Nests, Slot
from mapper.workload.einsum import ROLES, Einsum, Rank, Tensor, Term

MAX_POINTS = 600
MAX_INSTANCES = 64
MAX_WORK = 4000
"""Padded points times kept levels: what one execution by the oracle costs."""


@dataclass(frozen=True)
class Case:
    """One loop nest: `nests` has one row, `multicast` an X and a Y flag per level, for the fan-out below it."""

    einsum: Einsum
    nests: Nests
    multicast: tuple[tuple[bool, bool], ...]
    accelerator: Accelerator

    @property
    def level_count(self) -> int:
        return len(self.nests.keeps)

    @property
    def nest(self) -> LoopNest:
        """The loop nest as one mapping, unit loops left out."""
        levels = []
        for index, name in enumerate(self.accelerator.level_names):
            loops = {
                kind: tuple(
                    (slot.dimension, int(factor))
                    for slot, factor in zip(self.nests.slots, self.nests.factors[0], strict=True)
                    if (slot.level, slot.kind) == (index, kind) and factor > 1
                )
                for kind in "txy"
            }
            levels.append(LevelLoops(name, loops["t"], loops["x"], loops["y"], self.nests.keeps[index]))
        return LoopNest(tuple(levels))

    def __str__(self) -> str:
        """Everything that decides the counts, on a few lines: what a failing test prints."""
        lines = [self.einsum.text]
        for index, level in enumerate(self.nest.levels):
            loops = [("", level.temporal), ("X: ", level.x), ("Y: ", level.y)]
            text = " | ".join(name + " ".join(f"{d}{n}" for d, n in part) for name, part in loops)
            kept = ",".join(sorted(self.nests.keeps[index]))
            x, y = self.multicast[index]
            alone = "" if x and y else f"  (no multicast on {'' if x else 'X'}{'' if y else 'Y'})"
            lines.append(f"  {level.name} [{kept}] {text}{alone}")
        return "\n".join(lines)


def random_case(rng: random.Random) -> Case:
    """A case of at most `MAX_POINTS` points and `MAX_INSTANCES` compute units."""
    least = rng.choice((1, 8, 30, 60, 120))
    while True:
        einsum = random_einsum(rng)
        levels = rng.choice((1, 2, 2, 2, 2, 3, 3, 3, 4, 4))
        loops = _random_loops(rng, einsum, levels)
        padded = math.prod(factor for _, factor in loops)
        lanes = math.prod(factor for slot, factor in loops if slot.kind != "t")
        if least <= einsum.points and lanes <= MAX_INSTANCES and padded * levels <= MAX_WORK:
            break
    if rng.random() < 0.4:
        einsum = replace(einsum, operands=tuple(with_padding(rng, einsum, t) for t in einsum.operands))
    keeps = _random_keeps(rng, einsum, levels)
    multicast = tuple((rng.random() < 0.8, rng.random() < 0.8) for _ in range(levels))
    factors = np.array([[factor for _, factor in loops]], dtype=np.int64)
    nests = Nests(einsum, tuple(slot for slot, _ in loops), factors, keeps)
    return Case(einsum, nests, multicast, _random_accelerator(rng, loops, multicast))


def make_case(formula: str, mapping: str, keeps: tuple[str, ...] = ()) -> Case:
    """A case by hand: `"L0: K4 M2 | X: K2 | L1: N4"`, where every level keeps every tensor unless `keeps` says other.

    Each tensor has a memory of its own, whose ports move one bit per cycle: their cycles show every bit.
    """
    einsum = Einsum.parse(formula)
    loops: list[tuple[Slot, int]] = []
    level = -1
    for part in mapping.split("|"):
        name, _, text = part.partition(":")
        kind = name.strip().lower() if name.strip() in ("X", "Y") else "t"
        level += kind == "t"
        loops += [(Slot(level, kind, d), int(n)) for d, n in re.findall(r"([A-Z])(\d+)", text)]
    everything = frozenset(tensor.name for tensor in einsum.tensors)
    kept = tuple(frozenset(names.split()) for names in keeps) or (everything,) * (level + 1)
    slots = tuple(slot for slot, _ in loops)
    nests = Nests(einsum, slots, np.array([[factor for _, factor in loops]], dtype=np.int64), kept)
    multicast = ((True, True),) * len(kept)
    levels = tuple(
        Level(f"L{index}", _one_bit_ports(index), frozenset(), frozenset(ROLES), _fanout(loops, index, (True, True)))
        for index in range(len(kept))
    )
    bits = (("W", 8), ("I", 16), ("O", 16), ("partial_sum", 32))
    return Case(einsum, nests, multicast, Accelerator("by hand", levels, Compute(1.0, "unit energy"), bits))


def random_batch(rng: random.Random, case: Case, rows: int) -> Nests:
    """Up to `rows` loop nests that share the slots of `case`, its own first; small enough for the oracle."""
    slots, found = case.nests.slots, [case.nests.factors[0]]
    for _ in range(rows - 1):
        factors = np.ones(len(slots), dtype=np.int64)
        for dimension, bound in case.einsum.bounds:
            mine = [i for i, slot in enumerate(slots) if slot.dimension == dimension]
            if mine:
                factors[mine] = _random_factors(rng, bound, [slots[i] for i in mine])
        lanes = math.prod(int(f) for slot, f in zip(slots, factors, strict=True) if slot.kind != "t")
        if lanes <= MAX_INSTANCES:
            found.append(factors)
    return Nests(case.einsum, slots, np.array(found, dtype=np.int64), case.nests.keeps)


def with_padding(rng: random.Random, einsum: Einsum, tensor: Tensor) -> Tensor:
    """The operand with up to three positions of padding at either end of some ranks."""
    windows: list[tuple[int, int] | None] = []
    for rank in tensor.ranks:
        span = 1 + sum(term.coefficient * (einsum.extent[term.dimension] - 1) for term in rank)
        first = rng.randint(0, min(3, span))
        last = max(first, span - rng.randint(0, 3))
        windows.append((first, last) if rng.random() < (0.8 if len(rank) > 1 else 0.1) else None)
    return replace(tensor, stored=tuple(windows))


# Einsums --------------------------------------------------------------------------------------------------------------

FORMULAS = (
    "Z[M,N] += A[M,K] * B[K,N]",
    "Z[M,N] += A[M,K] * B[K,N]",
    "Z[B,M,N] += A[B,M,K] * C[B,K,N]",
    "Z[M] += A[M,K] * B[K]",
    "Z[M,N] += A[M] * B[N]",
    "Z[M,N] += A[M,N] * B[M,N]",
    "Z[] += A[K] * B[K]",
    "Z[M] += A[] * B[M,K]",
    "Z[I,J] += T[I,K,L] * A[K,J] * B[L,J]",
    "Z[I] += A[I,K] * B[K,L] * C[L]",
    "O[P] += W[R] * I[{u}*P+{d}*R]",
    "O[K,P] += W[K,C,R] * I[C,{u}*P+{d}*R]",
    "O[K,P] += W[K,C,R] * I[C,{u}*P+{d}*R]",
    "O[K,P,Q] += W[K,C,R,S] * I[C,{u}*P+{d}*R,{v}*Q+{e}*S]",
    "O[P,Q] += W[R,S] * I[{u}*P+{d}*R,{v}*Q+{e}*S]",
    "O[K,P] += W[K,C] * I[C,{u}*P]",
    "O[P] += W[R,S] * I[{u}*P+{d}*R+{e}*S]",
    "O[K,P] += W[K,R,T] * I[{u}*P+{d}*R+{e}*T]",
    "O[P,Q] += W[R] * I[{u}*P+{v}*Q+{d}*R]",
    "Z[A] += X[A+{d}*B] * Y[{u}*B+C]",
    "Z[A,D] += X[A,{d}*B+C] * Y[{u}*B+C,D] * V[C]",
)


def random_einsum(rng: random.Random) -> Einsum:
    """An einsum of one of the `FORMULAS`, or one part of a phase of a convolution."""
    if rng.random() < 0.35:
        return _random_conv(rng)
    u, v, d, e = (_coefficient(rng) for _ in range(4))
    formula = rng.choice(FORMULAS).format(u=u, v=v, d=d, e=e)
    indices = "".join(re.findall(r"\[(.*?)\]", formula))
    names = sorted(set(re.findall("[A-Z]", indices)))
    return Einsum.parse(formula, _random_bounds(rng, names))


def _coefficient(rng: random.Random) -> int:
    return rng.choice((1, 1, 2, 3))


def _random_bounds(rng: random.Random, dimensions: list[str]) -> dict[str, int]:
    while True:
        top = rng.choice((4, 6, 9, 16, 30)) if len(dimensions) < 4 else rng.choice((3, 4, 6, 8))
        bounds = {d: rng.randint(1, top) for d in dimensions}
        if math.prod(bounds.values()) <= MAX_POINTS:
            return bounds


def _random_conv(rng: random.Random) -> Einsum:
    """A part of fw, bw or wu, with the role and the data of each tensor; residues show as few taps and few rows."""
    phase = rng.choice(("fw", "bw", "wu"))
    bounds = _random_bounds(rng, list("NGKCPQRS"))
    ones = rng.sample(list(bounds), rng.randint(1, 5))
    bounds.update(dict.fromkeys(ones, 1))
    bounds.update({d: min(bounds[d], 3) for d in "RS"})
    strides, dilations = [rng.randint(1, 3) for _ in "hw"], [rng.randint(1, 3) for _ in "hw"]
    taps = [d // math.gcd(u, d) for u, d in zip(strides, dilations, strict=True)]
    forward = [_slide(u, p, d, r) for u, p, d, r in zip(strides, "PQ", dilations, "RS", strict=True)]
    backward = [_slide(1, p, e, r) for p, e, r in zip("PQ", taps, "RS", strict=True)]
    if phase == "fw":
        plain, sliding = Tensor("W", _plain("GKCRS"), "W", "W"), Tensor("I", (*_plain("NGC"), *forward), "I", "I")
        output = Tensor("O", _plain("NGKPQ"), "O", "O")
    elif phase == "bw":
        plain, sliding = Tensor("W", _plain("GKCRS"), "W", "W"), Tensor("dO", (*_plain("NGK"), *backward), "I", "O")
        output = Tensor("dI", _plain("NGCPQ"), "O", "I")
    else:
        plain, sliding = Tensor("I", _plain("NGCPQ"), "W", "I"), Tensor("dO", (*_plain("NGK"), *backward), "I", "O")
        output = Tensor("dW", _plain("GKCRS"), "O", "W")
    return Einsum(tuple(bounds.items()), (plain, sliding), output, name=phase)


def _plain(dimensions: str) -> tuple[Rank, ...]:
    return tuple((Term(1, d),) for d in dimensions)


def _slide(u: int, p: str, d: int, r: str) -> Rank:
    return (Term(u, p), Term(d, r))


# Loop nests -----------------------------------------------------------------------------------------------------------


def _random_loops(rng: random.Random, einsum: Einsum, levels: int) -> list[tuple[Slot, int]]:
    """Slots with their factors, outermost first; unit loops are sometimes left in."""
    fanouts = rng.sample(range(levels), min(levels, rng.choice((0, 1, 1, 1, 1, 2, 2, 2))))
    slots = {d: _random_slots(rng, d, levels, fanouts) for d in einsum.dimensions}
    placed: list[tuple[Slot, int]] = []
    for dimension, bound in einsum.bounds:
        factors = _random_factors(rng, bound, slots[dimension])
        placed += list(zip(slots[dimension], factors, strict=True))
    keep_units = rng.random() < 0.3
    placed = [(slot, factor) for slot, factor in placed if factor > 1 or keep_units]
    rng.shuffle(placed)
    return sorted(placed, key=lambda item: (item[0].level, "txy".index(item[0].kind)))


def _random_slots(rng: random.Random, dimension: str, levels: int, fanouts: list[int]) -> list[Slot]:
    """Where the loops of one dimension may stand, outermost first: always in the outermost level."""
    slots = []
    for level in range(levels):
        if level == 0 or rng.random() < 0.7:
            slots.append(Slot(level, "t", dimension))
        if level in fanouts:
            slots += [Slot(level, kind, dimension) for kind in "xy" if rng.random() < 0.45]
    return slots


def _random_factors(rng: random.Random, bound: int, slots: list[Slot]) -> list[int]:
    """Innermost first: temporal factors divide what is left, lanes may not, once; the outermost loop takes the rest."""
    factors, left, uneven = [], bound, rng.random() < 0.7
    for slot in reversed(slots[1:]):
        divisors = [f for f in range(1, left + 1) if left % f == 0]
        if slot.kind == "t" or not uneven:
            factor = rng.choice(divisors)
        else:
            factor = rng.randint(1, left)
            uneven = left % factor == 0
        left = -(-left // factor)
        factors.append(factor)
    return [left, *reversed(factors)]


def _random_keeps(rng: random.Random, einsum: Einsum, levels: int) -> tuple[frozenset[str], ...]:
    names = [tensor.name for tensor in einsum.tensors]
    chance = rng.choice((1.0, 0.75, 0.5))
    inner = [frozenset(name for name in names if rng.random() < chance) for _ in range(levels - 1)]
    return (frozenset(names), *inner)


# Accelerators ---------------------------------------------------------------------------------------------------------


def _random_accelerator(
    rng: random.Random, loops: list[tuple[Slot, int]], multicast: tuple[tuple[bool, bool], ...]
) -> Accelerator:
    """Fan-outs as wide as the loops or wider, unlimited capacities, some bandwidths, every energy 1."""
    levels = []
    for index, flags in enumerate(multicast):
        spare = (rng.choice((0, 0, 1)), rng.choice((0, 0, 1)))
        fanout = _fanout(loops, index, flags, spare)
        keep, may_keep = (frozenset(ROLES), frozenset()) if index == 0 else (frozenset(), frozenset(ROLES))
        levels.append(Level(f"L{index}", _random_buffers(rng, index), keep, may_keep, fanout))
    bits = tuple((name, rng.choice((1, 4, 8, 16, 32))) for name in (*ROLES, "partial_sum"))
    return Accelerator("random", tuple(levels), Compute(1.0, "unit energy"), bits)


def _fanout(
    loops: list[tuple[Slot, int]], level: int, multicast: tuple[bool, bool], spare: tuple[int, int] = (0, 0)
) -> Fanout:
    """As wide as the loops below `level`, and `spare` lanes more."""
    lanes = [math.prod(factor for slot, factor in loops if (slot.level, slot.kind) == (level, kind)) for kind in "xy"]
    x, y = (Axis(n + more, flag) for n, more, flag in zip(lanes, spare, multicast, strict=True))
    return Fanout(x, y)


def _one_bit_ports(level: int) -> tuple[Buffer, ...]:
    one, energies = Fraction(1), Energies(1.0, 1.0, 1.0, "unit energy")
    return tuple(Buffer(f"L{level}{role}", frozenset((role,)), energies, None, False, one, one, one) for role in ROLES)


def _random_buffers(rng: random.Random, level: int) -> tuple[Buffer, ...]:
    """One memory for all tensors, or several side by side."""
    splits = rng.choice(("WIO", "WIO", "W I O", "WI O", "W IO")).split()
    return tuple(
        Buffer(
            f"L{level}{roles}",
            frozenset(roles),
            Energies(1.0, 1.0, 1.0, "unit energy"),
            read_bandwidth=_random_bandwidth(rng),
            write_bandwidth=_random_bandwidth(rng),
            shared_bandwidth=_random_bandwidth(rng),
            drain_on_read_port=rng.random() < 0.7,
        )
        for roles in splits
    )


def _random_bandwidth(rng: random.Random) -> Fraction | None:
    """Bits per cycle: none, any, or at most one, where the cycles of the port show every bit."""
    kind = rng.choice(("none", "any", "exact"))
    if kind == "none":
        return None
    return Fraction(rng.randint(1, 200) if kind == "any" else 1, rng.choice((1, 1, 2, 3, 7)))
