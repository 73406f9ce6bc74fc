"""Random searches so small that every factor and permutation can be enumerated: `random_problem(rng)`, and
`random_sparse_problem(rng)` with zeros.

They are drawn for variety, not for likeness to anything: whatever an einsum, an accelerator or a user can ask for comes
up, alone and together, with figures of energy that pull a mapping in every direction.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.arch.zeros import BALANCES, EVENT_KINDS, Event, Format, Zeros
from mapper.cost.latency import port_bandwidths
from mapper.errors import InputError
from mapper.mapping import Partitioning, parse_partitioning
from mapper.search.constraint_checks import check
from mapper.search.constraint_text import parse_constraints
from mapper.search.constraints import UNCONSTRAINED, Constraints
from mapper.search.pool import METRICS
from mapper.search.solve import PARETO, Problem
from mapper.sparsity.density import Actual, Blocks, Density, Dispersed, Exactly, Structured, Uniform, Vector
from mapper.sparsity.given import shape_of
from mapper.sparsity.zeros import Sparsity
from mapper.workload import Conv2d, Einsum, Phase
from mapper.workload.einsum import Tensor
from tests.search import brute
from tests.strategies import with_padding
from tests.strategies_zeros import random_mask

FORMULAS = (
    "Z[M,N] += A[M,K] * B[K,N]",
    "Z[B,M] += A[B,M,K] * C[B,K]",
    "Z[M] += A[M,K] * B[K]",
    "Z[M,N] += A[M] * B[N]",
    "Z[] += A[K] * B[K]",
    "O[K,P] += W[K,R] * I[P+R]",
    "O[K,P] += W[K,C,R] * I[C,P+R]",
    "O[K,P] += W[K,C,R] * I[C,2*P+R]",
    "O[P] += W[R] * I[2*P+3*R]",
    "O[N,P] += W[R] * I[N,P+2*R]",
    "O[P] += W[R,S] * I[P+2*R+S]",
    "O[P,Q] += W[R,S] * I[P+R,Q+S]",
    "O[K,P,Q] += W[K,R] * I[P+R,Q]",
    "O[G,P] += W[G,R] * I[G,P+R]",
    "Z[A] += X[A+2*B] * Y[2*B+C]",
    "Z[M,N] += A[M,K] * B[K,N] * C[N]",
)
LARGEST, MOST_ARRAYS = 40_000, 500
"""Mappings that an enumeration costs, at most, and arrays of them: each takes as long as some hundred mappings."""
TOP = 10

WORD = 16
"""Bits of a word, mostly."""


def random_problem(rng: random.Random, largest: int = LARGEST, most_arrays: int = MOST_ARRAYS) -> Problem:
    """A search of at most `largest` mappings, the order of innermost loops apart."""
    least = rng.choice((0, largest // 200, largest // 20))
    while True:
        try:
            einsum = _layer(rng) if rng.random() < 0.3 else _einsum(rng)
        except InputError:
            # A layer whose padding is larger than what it pads.
            continue
        dimensions = brute.looped(einsum)
        accelerator = _accelerator(rng, dimensions)
        partitioning = _partitioning(rng, einsum, dimensions)
        if not 0 < len(dimensions) < 5:
            continue
        mappings, arrays = brute.size(einsum, accelerator, partitioning, largest)
        if least <= mappings < largest and arrays <= most_arrays:
            metric = rng.choice((*METRICS, *METRICS, PARETO))
            asked = random_constraints(rng, einsum, accelerator) if rng.random() < 0.3 else UNCONSTRAINED
            return Problem(einsum, accelerator, partitioning, metric, TOP, asked)


def describe(problem: Problem) -> str:
    """Everything that decides the answer, on a few lines: what a failing test prints."""
    return "\n".join(_lines(problem))


def _lines(problem: Problem) -> Iterator[str]:
    accelerator = problem.accelerator
    windows = [f"{t.name} stores {list(t.stored)}" for t in problem.einsum.operands if any(t.stored)]
    yield " | ".join([problem.einsum.text, *windows])
    asked = "" if problem.constraints.is_empty else f" | {problem.constraints}"
    yield f"{problem.partitioning}, {problem.metric}, top {problem.top}{asked}"
    bits = " ".join(f"{name} {count}" for name, count in accelerator.bits)
    yield f"bits {bits}, compute {accelerator.compute.energy_pj} pJ, leakage {accelerator.compute.leakage_mw} mW"
    for level in accelerator.levels:
        yield f"{level.name} keeps {''.join(sorted(level.keep))} may_keep {''.join(sorted(level.may_keep))}"
        for buffer in level.buffers:
            one = buffer.energies
            energies = " ".join(f"{value * WORD:.3g}" for value in (one.read, one.write, one.drain))
            ports = " ".join(f"{port} {bandwidth}" for port, bandwidth in port_bandwidths(buffer))
            twice = " double" * buffer.double_buffered + " drains apart" * (not buffer.drain_on_read_port)
            yield f"  {buffer.name}: {buffer.capacity_bits} bits{twice}, pJ {energies} per word, bits per cycle {ports}"
        for kind in "xy":
            if level.fanout.axis(kind).lanes > 1:
                yield f"  {kind.upper()}: {level.fanout.axis(kind)}"
    if accelerator.zeros is not None:
        yield str(accelerator.zeros)
    for name, density in problem.sparsity.densities:
        placed = f" {density.array.astype(int).tolist()}" if isinstance(density, Actual) else ""
        yield f"{name} is {density}{placed}, balance {problem.sparsity.balance}"


# Einsums --------------------------------------------------------------------------------------------------------------


def _einsum(rng: random.Random) -> Einsum:
    formula = rng.choice(FORMULAS)
    dimensions = sorted(set(re.findall("[A-Z]", "".join(re.findall(r"\[(.*?)\]", formula)))))
    einsum = Einsum.parse(formula, {d: rng.choice((2, 2, 3, 4, 4, 5, 6, 1)) for d in dimensions})
    if rng.random() < 0.4:
        einsum = replace(einsum, operands=tuple(with_padding(rng, einsum, t) for t in einsum.operands))
    return einsum


def _layer(rng: random.Random) -> Einsum:
    """A part of a phase of a small convolution, with stride, dilation, padding and groups."""
    taps, groups = rng.choice((1, 2, 3)), rng.choice((1, 1, 2))
    layer = Conv2d(
        name="conv",
        N=rng.choice((1, 1, 2)),
        K=groups * rng.choice((1, 2)),
        C=groups * rng.choice((1, 2)),
        P=rng.choice((2, 3, 4)),
        Q=rng.choice((1, 1, 2)),
        R=taps,
        S=rng.choice((1, 2)),
        groups=groups,
        stride=rng.choice((1, 1, 2)),
        dilation=rng.choice((1, 1, 2)),
        padding=rng.choice((0, 1)) if taps > 1 else 0,
    )
    parts = layer.parts(rng.choice(list(Phase)))
    return rng.choice(parts).einsum if parts else _einsum(rng)


# Accelerators ---------------------------------------------------------------------------------------------------------


def _partitioning(rng: random.Random, einsum: Einsum, dimensions: tuple[str, ...]) -> Partitioning:
    if len(dimensions) < 2 or rng.random() < 0.6:
        return parse_partitioning("any", einsum.dimensions)
    x, y = rng.sample(dimensions, 2)
    return parse_partitioning(f"{x}/{y}", einsum.dimensions)


def _accelerator(rng: random.Random, dimensions: tuple[str, ...]) -> Accelerator:
    """Two to four levels, with a fan-out below at most two of them."""
    count = rng.choice((2, 2, 3, 3, 3, 4))
    spread = rng.sample(range(count), min(count, rng.choice((0, 1, 1, 2))))
    levels = tuple(_level(rng, index, dimensions, index in spread) for index in range(count))
    partial = rng.choice((WORD, WORD, WORD, 2 * WORD))
    bits = (("W", WORD), ("I", WORD), ("O", rng.choice((WORD, WORD // 2))), ("partial_sum", partial))
    leakage = rng.choice((0.0, 0.0, 0.7))
    return Accelerator("small", levels, Compute(1.0, "test", leakage_mw=leakage), bits, clock_ghz=1.0)


def _level(rng: random.Random, index: int, dimensions: tuple[str, ...], spread: bool) -> Level:
    words = None if index == 0 else rng.choice((2, 3, 4, 5, 6, 8, 12, 20, None))
    chosen = rng.choice([("WIO",)] * 3 + [("W", "I", "O"), ("WI", "O")])
    buffers = tuple(_buffer(rng, f"B{index}{roles}", roles, words, index) for roles in chosen)
    left_open = frozenset(role for role in "WIO" if index and rng.random() < 0.2)
    bypass = frozenset(role for role in "WIO" if index and rng.random() < 0.08) - left_open
    x = _axis(rng, dimensions) if spread else Axis()
    y = _axis(rng, dimensions) if spread and rng.random() < 0.6 else Axis()
    return Level(f"L{index}", buffers, frozenset("WIO") - left_open - bypass, left_open, Fanout(x, y))


def _axis(rng: random.Random, dimensions: tuple[str, ...]) -> Axis:
    few = frozenset(rng.sample(dimensions, rng.randint(1, len(dimensions)))) if dimensions else frozenset[str]()
    return Axis(
        rng.choice((2, 3, 4)),
        multicast=rng.random() < 0.8,
        reduction=rng.random() < 0.85,
        allowed=few if rng.random() < 0.15 else None,
        irrelevant_to=frozenset(rng.choice("WIO")) if rng.random() < 0.1 else frozenset(),
    )


def _buffer(rng: random.Random, name: str, roles: str, words: int | None, index: int) -> Buffer:
    """Any action may be the dear one, that of an outer level by far."""
    read, write, drain = (rng.choice((0.0, 0.5, 1.0, 1.9, 6.0, 200.0 / (1 + 20 * index))) / WORD for _ in range(3))
    ports: dict[str, Fraction | None] = dict.fromkeys(("read", "write", "shared"))
    if rng.random() < 0.4:
        ports[rng.choice(list(ports))] = Fraction(WORD * rng.choice((1, 2, 5)), 2)
    return Buffer(
        name,
        frozenset(roles),
        Energies(read, write, drain, "test"),
        None if words is None else words * WORD,
        rng.random() < 0.15,
        read_bandwidth=ports["read"],
        write_bandwidth=ports["write"],
        shared_bandwidth=ports["shared"],
        drain_on_read_port=rng.random() < 0.7,
        leakage_mw=rng.choice((0.0, 0.0, 0.0, 0.3)),
    )


# Constraints ----------------------------------------------------------------------------------------------------------


def random_constraints(rng: random.Random, einsum: Einsum, accelerator: Accelerator) -> Constraints:
    """A few constraints that do not contradict each other nor the accelerator; they may leave no mapping."""
    levels, dimensions = accelerator.levels, (*einsum.dimensions, "R")
    while True:
        lines = []
        for _ in range(rng.randint(1, 3)):
            name, value = rng.choice(levels).name, rng.choice([1, 1, 2, 2, 3, 4])
            axis = rng.choice(["", "", " X", " Y"])
            form = rng.choice(["={}", "<={}", "<={}", ">={}", "=1..{}", "=1,3", "=1,2,6"])
            lines.append(f"{name}{axis}: {rng.choice(dimensions)}{form.format(value)}")
        if rng.random() < 0.5:
            named = rng.sample(dimensions, rng.randint(1, len(dimensions)))
            lines.append(f"{rng.choice(levels).name} order: {' '.join(named)}")
        for index, level in enumerate(levels):
            for role in sorted(accelerator.open_roles(index)):
                lines += rng.choice([[], [], [f"{level.name} keeps: {role}"], [f"{level.name} bypasses: {role}"]])
        if rng.random() < 0.25:
            lines.append(f"min_utilization: {rng.choice((0.1, 0.25, 0.4, 0.5))}")
        try:
            asked = parse_constraints(*lines)
            check(asked, accelerator, [einsum])
        except InputError:
            continue
        return asked


# Zeros ----------------------------------------------------------------------------------------------------------------


def random_sparse_problem(rng: random.Random, largest: int = LARGEST, most_arrays: int = MOST_ARRAYS) -> Problem:
    """A search with zeros in some tensors, the first operand mostly, on hardware that does something about them."""
    problem = random_problem(rng, largest, most_arrays)
    einsum = problem.einsum
    chances = {tensor.name: 0.35 for tensor in einsum.tensors} | {einsum.operands[0].name: 0.92}
    densities = tuple(
        (t.name, random_density(rng, einsum, t)) for t in einsum.tensors if rng.random() < chances[t.name]
    )
    sparsity = Sparsity(densities, rng.choice((None, None, None, *BALANCES)))
    zeros = random_zeros(rng, problem.accelerator)
    return replace(problem, accelerator=replace(problem.accelerator, zeros=zeros), sparsity=sparsity)


def random_density(rng: random.Random, einsum: Einsum, tensor: Tensor) -> Density:
    """Half of them known masks; closed forms, samples and draws each come up."""
    shape, mean = shape_of(einsum, tensor), rng.choice((0.1, 0.3, 0.5, 0.7, 0.95, rng.random()))
    plain = bool(shape) and all(len(rank) == 1 for rank in tensor.ranks)
    kind = rng.choice(("mask",) * 5 + ("uniform",) * 2 + ("dispersed", "exactly", "structured", "blocks", "vector"))
    if kind == "structured" and plain:
        m = rng.choice((2, 3, 4))
        return Structured(rng.randint(1, m), m).along(rng.randrange(len(shape)))
    if kind == "vector" and plain and len(shape) > 1:
        axis = rng.randrange(len(shape))
        return Vector(axis, tuple(rng.choice((0.0, 1.0, rng.random())) for _ in range(shape[axis])))
    if kind == "blocks" and plain:
        return Blocks(mean, tuple(rng.choice((1, 1, 2, 3)) for _ in shape))
    if kind == "dispersed":
        return Dispersed(mean, rng.choice((0.0, 0.1, 0.4)))
    if kind == "exactly" and plain:
        return Exactly(mean, int(np.prod(shape)))
    return Actual(random_mask(rng, einsum, tensor)) if kind == "mask" else Uniform(rng.choice((mean, mean, 0.0, 1.0)))


def random_zeros(rng: random.Random, accelerator: Accelerator) -> Zeros:
    """Hardware that mostly skips zeros of the plain operand; everything else may be there or not."""
    policy = {
        "W": rng.choice(("skip",) * 6 + ("gate", "none")),
        "I": rng.choice(("skip", "skip", "gate", "none", "none", "none")),
    }
    chance = rng.choice((0.0, 0.3, 0.8))
    formats = tuple(
        ((level.name, role), _format(rng)) for level in accelerator.levels for role in "WIO" if rng.random() < chance
    )
    events = tuple(
        Event(f"E{kind}", kind, rng.choice((0.0, 0.4, 30.0)), "test") for kind in EVENT_KINDS if rng.random() < 0.3
    )
    return Zeros(
        skip=frozenset(role for role in policy if policy[role] == "skip"),
        gate=frozenset(role for role in policy if policy[role] == "gate"),
        balance=rng.choice(BALANCES),
        formats=formats,
        events=events,
        overhead_energy=rng.choice((0.0, 0.0, 0.11, 2.0)),
        capacity_quantile=rng.choice((None, None, 0.3, 0.5, 0.9, 0.999, 1.0)),
        skip_block=rng.choice((1,) * 8 + (2, 3)),
        compaction=rng.random() < 0.5,
        monitor_samples=rng.choice((0, 5)),
    )


def _format(rng: random.Random) -> Format:
    m = rng.choice((2, 4, 8))
    return rng.choice(
        (
            *map(Format, ("dense", "bitmask", "coordinate", "csr", "csc")),
            Format("csb", block=rng.choice((None, 1, 2, 3, 9)), pointer_bits=rng.choice((1, 8, 20))),
            Format("rle", run_bits=rng.randint(1, 5)),
            Format("n_m", n=rng.randint(1, m), m=m),
        )
    )
