"""An accelerator: storage levels outermost first, a fan-out below any of them, compute below the last.

Everything is in bits and picojoules here; the YAML (`schema.py`) speaks words, KiB and pJ per word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from mapper.arch.network import Network
from mapper.arch.zeros import Zeros
from mapper.workload.einsum import Einsum, Tensor


@dataclass(frozen=True)
class Energies:
    """Picojoules per bit of each action, with the source of the numbers."""

    read: float
    write: float
    drain: float
    source: str


@dataclass(frozen=True)
class Unit:
    """What a spec states a capacity in: the key, and the bits of one; `divisible`: the file may give a part of one."""

    key: str = "capacity_bits"
    bits: int = 1
    divisible: bool = False

    def hold(self, bits: int) -> int:
        """The least capacity in bits, `bits` or more, that a file can state in this unit."""
        if not self.divisible:
            return -(-bits // self.bits) * self.bits
        # A file gives a decimal number that a float holds to the last digit: all but the largest sizes are exact.
        grains = (1 << power for power in range(self.bits.bit_length()))
        sizes = (-(-bits // grain) * grain for grain in grains)
        return next(size for size in sizes if Fraction(self.text(size)) * self.bits == size)

    def text(self, bits: int) -> str:
        """So many bits as the file gives them."""
        size = Fraction(bits, self.bits)
        return str(size) if size.denominator == 1 else repr(float(size))


@dataclass(frozen=True)
class Buffer:
    """A memory of one level instance, shared by the tensors of `roles`. None means unlimited.

    Bandwidths are bits per cycle and instance. `drain_on_read_port` False leaves drains out of the bandwidths, as
    Timeloop does. `unit` is what its file counts capacity in; it says nothing about the hardware.
    """

    name: str
    roles: frozenset[str]
    energies: Energies
    capacity_bits: int | None = None
    double_buffered: bool = False
    read_bandwidth: Fraction | None = None
    write_bandwidth: Fraction | None = None
    shared_bandwidth: Fraction | None = None
    drain_on_read_port: bool = True
    leakage_mw: float = 0.0
    area_um2: float | None = None
    unit: Unit = field(default=Unit(), compare=False)


@dataclass(frozen=True)
class Axis:
    """One axis of a fan-out: its lanes, what it can do, and which dimensions may be spread there (None: any)."""

    lanes: int = 1
    multicast: bool = True
    reduction: bool = True
    allowed: frozenset[str] | None = None
    irrelevant_to: frozenset[str] = frozenset()
    """Roles: only dimensions that index none of these tensors may be spread here."""


@dataclass(frozen=True)
class Fanout:
    """The X by Y children under one instance of a level; `network` None: how words reach them is not modelled."""

    x: Axis = Axis()
    y: Axis = Axis()
    network: Network | None = None

    @property
    def lanes(self) -> int:
        return self.x.lanes * self.y.lanes

    def axis(self, kind: str) -> Axis:
        return self.x if kind == "x" else self.y


@dataclass(frozen=True)
class Level:
    """A storage level. `keep`: roles always kept; `may_keep`: roles a mapping may keep or let bypass."""

    name: str
    buffers: tuple[Buffer, ...]
    keep: frozenset[str]
    may_keep: frozenset[str] = frozenset()
    fanout: Fanout = Fanout()

    def buffer(self, tensor: Tensor) -> Buffer:
        """The buffer of this level that holds `tensor`."""
        return next(b for b in self.buffers if tensor.role in b.roles)


@dataclass(frozen=True)
class Compute:
    """The multiply-accumulate unit: energy per point, leakage and area of one unit."""

    energy_pj: float
    source: str
    name: str = "MAC"
    leakage_mw: float = 0.0
    area_um2: float | None = None


@dataclass(frozen=True)
class Accelerator:
    """Levels outermost first, compute below the last.

    `bits` gives W, I, O and partial_sum. `clock_ghz` turns leakage into pJ per cycle; None where the spec gives none.
    `zeros` None: zeros are words like any other.
    """

    name: str
    levels: tuple[Level, ...]
    compute: Compute
    bits: tuple[tuple[str, int], ...]
    clock_ghz: float | None = None
    technology_nm: int | None = None
    description: str = ""
    zeros: Zeros | None = None

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.levels)

    @cached_property
    def instances(self) -> tuple[int, ...]:
        """Instances of each level, then of the compute unit."""
        counts = [1]
        for level in self.levels:
            counts.append(counts[-1] * level.fanout.lanes)
        return tuple(counts)

    @property
    def pes(self) -> int:
        """Compute units."""
        return self.instances[-1]

    def operand_bits(self, tensor: Tensor) -> int:
        """Bits of one finished word of `tensor`."""
        return dict(self.bits)[tensor.data]

    @cached_property
    def partial_sum_bits(self) -> int:
        return dict(self.bits)["partial_sum"]

    @cached_property
    def open_levels(self) -> tuple[int, ...]:
        """Levels where a mapping says what is kept."""
        return tuple(index for index in range(len(self.levels)) if self.open_roles(index))

    def open_roles(self, level: int) -> frozenset[str]:
        """Roles that a mapping may keep at `level` or let bypass; level 0 keeps all."""
        return self.levels[level].may_keep - self.levels[level].keep if level else frozenset()

    def kept(self, level: int, einsum: Einsum, choice: frozenset[str] | None = None) -> frozenset[str]:
        """Names of the tensors kept at `level`; `choice` decides those that the spec leaves open."""
        if level == 0:
            return frozenset(t.name for t in einsum.tensors)
        keep, may = self.levels[level].keep, self.levels[level].may_keep
        chosen = choice or frozenset()
        return frozenset(t.name for t in einsum.tensors if t.role in keep or (t.role in may and t.name in chosen))
