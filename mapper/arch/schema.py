"""The YAML of an accelerator, key by key, with units; `build.py` turns it into an `Accelerator`.

Levels stand outermost first. Tensors go by role in every phase: W is the plain operand, I the sliding operand, O the
accumulated tensor (in weight update the stored activation takes W's place and the weight gradient O's).

No energy has a default but `drain`, which costs what a read costs unless given. Unlimited capacity is stated
(`capacity: unlimited`); a bandwidth that is not given is unlimited.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mapper import shipped
from mapper.arch.network import TOPOLOGIES
from mapper.arch.quantities import Count, Name, NotNegative, Positive, Role, Source, known
from mapper.arch.zerospec import ZerosSpec
from mapper.yamlfile import StrictModel, shown

MAX_LANES = 2**16
"""Lanes of one axis: a search looks at each."""
MAX_LEVELS = 64
"""More than any hierarchy has; a search says itself where it has too many to count."""

Lanes = Annotated[int, Field(ge=1, le=MAX_LANES)]


class Bits(StrictModel):
    """Bits of a word: of each role, and of a partial sum; `default` is what those not given have."""

    default: Count | None = None
    W: Count | None = None
    I: Count | None = None  # noqa: E741 (the name of the tensor)
    O: Count | None = None  # noqa: E741
    partial_sum: Count | None = None


class Bandwidth(StrictModel):
    """Per instance: of the read port, of the write port, of a port that both share."""

    read: Positive | None = None
    write: Positive | None = None
    shared: Positive | None = None


class Energy(StrictModel):
    """Picojoules of an action on a word or a bit, and where the numbers come from."""

    read: NotNegative
    write: NotNegative = Field(description="fills and updates")
    drain: NotNegative | None = Field(None, description="read out to be sent up; the read energy unless given")
    source: Source


def _each_axis(value: object) -> object:
    """`true` is short for both axes."""
    if isinstance(value, bool):
        return {"x": value, "y": value}
    if not isinstance(value, dict):
        raise ValueError(f"expected true, false or {{x: ..., y: ...}}, found {shown(value)}")
    return value


class PerAxis(StrictModel):
    """A capability of the network on each axis."""

    x: bool
    y: bool


Capability = Annotated[PerAxis, BeforeValidator(_each_axis)]
BOTH = PerAxis(x=True, y=True)


class NetworkSpec(StrictModel):
    """How words get to the children and back: energies of a bit on its way, and where they come from."""

    topology: Annotated[str, AfterValidator(known("topology", TOPOLOGIES))] = Field(description=", ".join(TOPOLOGIES))
    tile_mm: Positive = Field(description="width of a child in millimetres")
    wire_pj_per_bit_mm: NotNegative
    switch_pj_per_bit: NotNegative = Field(description="of a router, a switch, a tree node, or of getting onto a bus")
    source: Source
    link_bits_per_cycle: Positive | None = Field(None, description="of each link or bus; unlimited unless given")
    link_bits: Count | None = Field(None, description="wires of a link, for area; link_bits_per_cycle unless given")
    wire_um2_per_bit_mm: NotNegative | None = Field(None, description="area of wire")
    switch_um2: NotNegative | None = Field(None, description="area of one switch")


class FanoutSpec(StrictModel):
    """The X by Y children under one instance: what reaches them at once, and what may be spread over them."""

    x: Lanes | None = None
    y: Lanes | None = None
    pes: Count | None = Field(None, description="x * y, checked")
    multicast: Capability = Field(BOTH, description="one word reaches several children at once")
    reduction: Capability = Field(BOTH, description="children's partial sums are added on the way up")
    spread_x: list[Name] | None = Field(None, min_length=1, description="dimensions allowed on X")
    spread_y: list[Name] | None = Field(None, min_length=1, description="dimensions allowed on Y")
    spread_x_irrelevant_to: list[Role] = Field([], description="only dimensions that index none of these on X")
    spread_y_irrelevant_to: list[Role] = Field([], description="only dimensions that index none of these on Y")
    network: NetworkSpec | None = Field(None, description="topology and its energy; not modelled unless given")


class Memory(StrictModel):
    """One memory: size, bandwidth, energy. A word has `word_bits`, or `bits.default` where that is not given."""

    capacity: Literal["unlimited"] | None = None
    capacity_kib: Positive | None = None
    capacity_bytes: Count | None = None
    capacity_words: Count | None = None
    capacity_bits: Count | None = None
    word_bits: Count | None = None
    double_buffered: bool = False
    bandwidth: Literal["unlimited"] | None = None
    bandwidth_words_per_cycle: Bandwidth | None = None
    bandwidth_bits_per_cycle: Bandwidth | None = None
    bandwidth_gb_per_s: Bandwidth | None = Field(None, description="10**9 bytes a second, at clock_ghz")
    port_width_bits: Count | None = None
    ports: Count | None = None
    drain_on_read_port: bool = True
    energy_pj_per_word: Energy | None = None
    energy_pj_per_bit: Energy | None = None
    leakage_mw: NotNegative = 0.0
    area_um2: NotNegative | None = None


class BufferSpec(Memory):
    """One of several memories side by side, each for its own tensors."""

    name: Name
    tensors: list[Role] = Field(min_length=1)


class LevelSpec(Memory):
    """A level: one memory, or `buffers` side by side; `keep` is every tensor that `may_keep` leaves unless given."""

    name: Name
    keep: list[Role] | None = None
    may_keep: list[Role] = Field([], description="kept or not: the mapping says")
    buffers: list[BufferSpec] | None = Field(None, min_length=1)
    instances: Count | None = Field(None, description="product of the fan-outs above, checked")
    fanout: FanoutSpec | None = None


class ComputeSpec(StrictModel):
    """The multiply-accumulate unit: picojoules per executed point; one point per cycle."""

    name: Name = "MAC"
    energy_pj: NotNegative | None = None
    source: Source
    instances: Count | None = Field(None, description="product of the fan-outs above, checked")
    leakage_mw: NotNegative = 0.0
    area_um2: NotNegative | None = None


class ArchSpec(StrictModel):
    """The whole file."""

    name: Annotated[str, Field(pattern=f"^{shipped.NAME}$")]
    description: str = ""
    technology_nm: Count | None = None
    clock_ghz: Positive | None = Field(None, description="needed by GB/s and by leakage")
    bits: Bits
    levels: list[LevelSpec] = Field(min_length=1, max_length=MAX_LEVELS, description="storage levels, outermost first")
    compute: ComputeSpec
    zeros: ZerosSpec | None = Field(None, description="what the hardware does about zeros; nothing unless given")
