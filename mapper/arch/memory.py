"""One memory of the file, from words and KiB to bits and picojoules per bit.

Sizes and bandwidths are exact: a number counts as its decimal text says, so 25.6 GB/s at 1 GHz is 1024/5 bits per
cycle, 64/5 words of 16 bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mapper.arch.accelerator import Buffer, Energies, Unit
from mapper.arch.schema import ArchSpec, Bandwidth, BufferSpec, LevelSpec
from mapper.errors import InputError, MapperWarning
from mapper.yamlfile import Node, shown

MAX_CAPACITY_BITS = 2**62

CAPACITY_BITS = {"capacity_kib": 8 * 1024, "capacity_bytes": 8, "capacity_bits": 1}
"""Bits of the unit of each capacity key; the unit of `capacity_words` is the word."""
CAPACITIES = ("capacity", *CAPACITY_BITS, "capacity_words")
BANDWIDTHS = ("bandwidth", "bandwidth_words_per_cycle", "bandwidth_bits_per_cycle", "bandwidth_gb_per_s")
ENERGIES = ("energy_pj_per_word", "energy_pj_per_bit")
IN_WORDS = frozenset(key for key in (*CAPACITIES, *BANDWIDTHS, *ENERGIES) if "word" in key)


def need_clock(spec: ArchSpec, node: Node, label: str) -> Fraction:
    """The clock in GHz, for a key that means nothing without it."""
    if spec.clock_ghz is None:
        raise node.error(f"{label}: needs a clock", "give clock_ghz at the top of the file")
    return exact(spec.clock_ghz)


def exact(value: float) -> Fraction:
    """The decimal number as written: `repr` is the shortest text that gives the float."""
    return Fraction(repr(value))


@dataclass(frozen=True)
class Entry:
    """A memory in the file: what it says, where it stands, what messages call it, and the whole file around it."""

    memory: LevelSpec | BufferSpec
    node: Node
    label: str
    spec: ArchSpec

    def error(self, key: str, message: str, hint: str | None = None) -> InputError:
        """An error about `key`, at its line; about the memory as a whole where `key` is not given."""
        label = f"{self.label}.{key}" if self.node.child(key) else self.label
        return self.node.at(key).error(f"{label}: {message}", hint)

    def said(self, key: str) -> str:
        """The value of `key` as a message quotes it."""
        value = self.node.at(key).plain()
        if not isinstance(value, dict):
            return shown(value)
        return f"{{{', '.join(f'{inner}: {shown(part)}' for inner, part in value.items())}}}"

    def word_bits(self, key: str) -> int:
        """Width of the word that `key` counts in."""
        bits = self.memory.word_bits or self.spec.bits.default
        if bits is None:
            raise self.error(key, "how wide is a word?", "give word_bits here, or bits.default")
        return bits

    def only(self, keys: Sequence[str]) -> str | None:
        """The one key of `keys` that is given: two would say the same thing twice, or two things."""
        given = sorted((k for k in keys if self.node.child(k)), key=lambda k: self.node.at(k).first)
        if len(given) > 1:
            first, second = given[:2]
            message = f"{self.said(second)} contradicts {first}: {self.said(first)}"
            raise self.error(second, message, f"keep one of {', '.join(given)}")
        return given[0] if given else None


def build_buffer(entry: Entry, roles: frozenset[str]) -> Buffer:
    """The memory in bits and picojoules per bit, for the tensors of `roles`."""
    memory = entry.memory
    if memory.word_bits is not None and not memory.model_fields_set & IN_WORDS:
        raise entry.error("word_bits", "nothing here is in words", "leave it out")
    if memory.leakage_mw > 0:
        need_clock(entry.spec, entry.node.at("leakage_mw"), f"{entry.label}.leakage_mw")
    bandwidth = _bandwidth(entry)
    return Buffer(
        name=memory.name,
        roles=roles,
        energies=_energies(entry),
        capacity_bits=_capacity(entry),
        unit=_unit(entry),
        double_buffered=memory.double_buffered,
        read_bandwidth=bandwidth.get("read"),
        write_bandwidth=bandwidth.get("write"),
        shared_bandwidth=bandwidth.get("shared"),
        drain_on_read_port=memory.drain_on_read_port,
        leakage_mw=memory.leakage_mw,
        area_um2=memory.area_um2,
    )


def _capacity(entry: Entry) -> int | None:
    """Bits of one instance, None where unlimited."""
    key = entry.only(CAPACITIES)
    if key is None:
        raise entry.error(
            "capacity", f"component {entry.memory.name} has no capacity", f"one of {', '.join(CAPACITIES)}"
        )
    if key == "capacity":
        return None
    bits = exact(getattr(entry.memory, key)) * _unit(entry).bits
    if bits.denominator != 1:
        raise entry.error(key, f"{entry.said(key)} is {_decimal(bits)} bits, not a whole number")
    if bits > MAX_CAPACITY_BITS:
        raise entry.error(key, f"{entry.said(key)} is more than 2**62 bits", "capacity: unlimited")
    return int(bits)


def _unit(entry: Entry) -> Unit:
    """What the file gives the capacity in."""
    key = entry.only(CAPACITIES)
    if key in (None, "capacity"):
        return Unit()
    return Unit(key, CAPACITY_BITS.get(key) or entry.word_bits(key), divisible=key == "capacity_kib")


def _energies(entry: Entry) -> Energies:
    """Picojoules per bit; a drain costs what a read costs unless the file says otherwise."""
    key = entry.only(ENERGIES)
    energy = entry.memory.energy_pj_per_word or entry.memory.energy_pj_per_bit
    if key is None or energy is None:
        hint = "energy_pj_per_word: {read: ..., write: ..., source: ...}"
        raise entry.error(ENERGIES[0], f"component {entry.memory.name} has no energy", hint)
    bits = entry.word_bits(key) if key in IN_WORDS else 1
    drain = energy.read if energy.drain is None else energy.drain
    return Energies(energy.read / bits, energy.write / bits, drain / bits, energy.source)


def _bandwidth(entry: Entry) -> dict[str, Fraction]:
    """Bits per cycle of each port that is limited."""
    key, ports = entry.only(BANDWIDTHS), _ports(entry)
    if key is None:
        return {"shared": Fraction(ports)} if ports else {}
    if key == "bandwidth":
        if ports:
            raise entry.error(key, f"unlimited contradicts port_width_bits x ports: {ports} bits per cycle")
        return {}
    given: Bandwidth = getattr(entry.memory, key)
    unit = _bandwidth_unit(entry, key)
    limits = {p: exact(getattr(given, p)) * unit for p in Bandwidth.model_fields if getattr(given, p) is not None}
    if not limits:
        raise entry.error(key, "says nothing", "give read, write or shared")
    _compare(entry, key, limits, ports)
    return limits


def _bandwidth_unit(entry: Entry, key: str) -> Fraction:
    """Bits per cycle of one unit of that key; GB/s over GHz are bytes per cycle."""
    if key == "bandwidth_gb_per_s":
        return 8 / need_clock(entry.spec, entry.node.at(key), f"{entry.label}.{key}")
    return Fraction(entry.word_bits(key) if key in IN_WORDS else 1)


def _ports(entry: Entry) -> int | None:
    """Bits per cycle of all ports: the limit they share, unless a bandwidth is given."""
    width, ports = entry.memory.port_width_bits, entry.memory.ports
    if width is None and ports is None:
        return None
    if width is None or ports is None:
        key, other = ("ports", "port_width_bits") if width is None else ("port_width_bits", "ports")
        raise entry.error(key, f"says nothing without {other}")
    return width * ports


def _compare(entry: Entry, key: str, limits: dict[str, Fraction], ports: int | None) -> None:
    """Warn where the ports do not make the bandwidth: what is shared, else reads and writes together."""
    total = limits.get("shared") or sum(limits.values(), Fraction(0))
    if ports is None or ports == total:
        return
    width, count = entry.memory.port_width_bits, entry.memory.ports
    message = (
        f"{entry.node.at('port_width_bits').where}: {entry.label}: port_width_bits {width} x ports {count} is {ports} "
        f"bits per cycle, but {key} is {_decimal(total)} bits per cycle; {key} counts"
    )
    warnings.warn(message, MapperWarning, stacklevel=2)


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))
