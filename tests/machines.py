"""Small accelerators for tests, in words of 16 bits: a word costs 1 pJ per action and a point 1 pJ unless told."""

from __future__ import annotations

from fractions import Fraction

from mapper.arch import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.cost import Evaluation

WORD = 16
"""Bits of every word, partial sums included."""

ROLES = frozenset("WIO")


def buffer(
    name: str,
    roles: str = "WIO",
    words: int | None = None,
    pj: float = 1.0,
    double: bool = False,
    area: float | None = None,
    read: float | None = None,
    write: float | None = None,
    shared: float | None = None,
) -> Buffer:
    """A memory of `words` (None: unlimited); `read`, `write` and `shared` are words per cycle."""
    ports = [None if value is None else Fraction(repr(value)) * WORD for value in (read, write, shared)]
    energies = Energies(pj / WORD, pj / WORD, pj / WORD, "test")
    capacity = None if words is None else words * WORD
    return Buffer(name, frozenset(roles), energies, capacity, double, ports[0], ports[1], ports[2], area_um2=area)


def beside(name: str, *buffers: Buffer, x: int = 1, y: int = 1) -> Level:
    """A level of several memories side by side."""
    return Level(name, buffers, ROLES, fanout=Fanout(Axis(x), Axis(y)))


def level(
    name: str,
    words: int | None = None,
    x: int | Axis = 1,
    y: int | Axis = 1,
    *,
    may_keep: str = "",
    pj: float = 1.0,
    double: bool = False,
    area: float | None = None,
    read: float | None = None,
    write: float | None = None,
    shared: float | None = None,
) -> Level:
    """A level of one memory, which keeps every tensor that `may_keep` does not leave open."""
    columns, rows = (Axis(axis) if isinstance(axis, int) else axis for axis in (x, y))
    memory = buffer(name, "WIO", words, pj, double, area, read, write, shared)
    return Level(name, (memory,), ROLES - set(may_keep), frozenset(may_keep), Fanout(columns, rows))


def machine(*levels: Level, mac_pj: float = 1.0, leakage_mw: float = 0.0, area: float | None = None) -> Accelerator:
    """An accelerator of these levels, 16 bits everywhere, at 1 GHz."""
    bits = tuple((role, WORD) for role in ("W", "I", "O", "partial_sum"))
    unit = Compute(mac_pj, "test", leakage_mw=leakage_mw, area_um2=area)
    return Accelerator("toy", levels, unit, bits, clock_ghz=1.0)


def array(x: int, y: int, words: int | None = None, shared: float | None = None) -> Accelerator:
    """DRAM over one buffer over an array of `x` by `y` compute units with a register file of `words` each.

    `shared`: words per cycle of DRAM.
    """
    return machine(level("DRAM", pj=100.0, shared=shared), level("GLB", x=x, y=y, pj=4.0), level("RF", words))


def words(found: Evaluation, component: str, tensor: str, actions: str) -> tuple[int, ...]:
    """Words of each of `actions` ("fills reads"), 0 where there is no such item."""
    counts = {(i.component, i.tensor, i.action): int(i.count) for i in found.items}
    return tuple(counts.get((component, tensor, action), 0) for action in actions.split())


def dram_words(found: Evaluation) -> int:
    """Words that cross the outermost level's ports."""
    buffers = {buffer.name for buffer in found.accelerator.levels[0].buffers}
    return sum(int(item.count) for item in found.items if item.component in buffers)
