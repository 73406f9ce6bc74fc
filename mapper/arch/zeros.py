"""What hardware does about zeros: which it skips or gates, how it stores tensors, and what that costs.

Roles are those of the hardware in every phase: W the plain operand, I the sliding one, O the accumulated tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from mapper.errors import InputError, did_you_mean

BALANCES = ("none", "half_tile", "half_tile_uneven", "global", "ideal")
"""How the work tiles of a working set are evened out."""

FORMAT_KEYS: dict[str, tuple[str, ...]] = {
    "dense": (),
    "bitmask": (),
    "csb": ("block", "pointer_bits"),
    "rle": ("run_bits",),
    "coordinate": (),
    "csr": ("index_bits", "pointer_bits"),
    "csc": ("index_bits", "pointer_bits"),
    "n_m": ("n", "m"),
}
"""Kinds of format, and what each needs to know beside its kind."""
FORMAT_KINDS = tuple(FORMAT_KEYS)

CSB_POINTER_BITS = 20
"""Of a block of `csb`, as in the public simulator of Procrustes."""
RLE_RUN_BITS = 4
"""Of the run of zeros before a nonzero, as in SCNN (Parashar et al., ISCA 2017)."""

EVENT_KINDS = ("gradient", "regenerated", "sort", "pointer", "sample")
"""What the units for sparse training do: a weight gradient produced (`wu`), a zero weight whose initial value is made
again (`fw` and `bw`), a swap of the balancer's sorter, a pointer it reads, a word an activation monitor looks at."""


@dataclass(frozen=True)
class Format:
    """How a tensor is stored at a level: packed nonzeros and metadata.

    `block`: positions of a block of `csb` (None: a filter kernel, the tensor's last two ranks), `pointer_bits` of its
    pointers (0: 20), or of those of `csr` and `csc` (0: as many as count the tensor's words); `index_bits` of a
    position in a row of `csr` or a column of `csc` (0: ceil(log2) of its length); `run_bits` of `rle` (0: 4); `n` of
    every `m` positions of `n_m`. Raises `InputError` for an unknown kind and for more than m of m positions.
    """

    kind: str
    block: int | None = None
    pointer_bits: int = 0
    run_bits: int = 0
    n: int = 0
    m: int = 0
    index_bits: int = 0

    def __post_init__(self) -> None:
        if self.kind not in FORMAT_KEYS:
            raise InputError(f"no format '{self.kind}'", hint=did_you_mean(self.kind, FORMAT_KINDS))
        if self.kind == "n_m" and not 1 <= self.n <= self.m:
            raise InputError(f"format n_m keeps {self.n} of every {self.m} positions", hint="n: 2, m: 4")
        if self.kind == "csb":
            object.__setattr__(self, "pointer_bits", self.pointer_bits or CSB_POINTER_BITS)
        if self.kind == "rle":
            object.__setattr__(self, "run_bits", self.run_bits or RLE_RUN_BITS)


@dataclass(frozen=True)
class Event:
    """A unit of the sparse hardware: picojoules per event of its kind, square micrometres, where they come from."""

    name: str
    kind: str
    energy_pj: float
    source: str
    area_um2: float | None = None


@dataclass(frozen=True)
class Zeros:
    """Policies of an accelerator about zeros.

    `skip`: roles whose zeros take neither cycle nor energy; `gate`: roles whose zeros take a cycle but no energy.
    `formats` per (level, role). `skip_block`: consecutive words of a tensor that are skipped only together;
    `compaction` packs rows first. `capacity_quantile`: a compressed tile needs the room that so large a share of the
    tiles fits in; None: any tile may come out dense, and has the room of one. `monitor_samples`: words an activation
    monitor looks at, per tensor and pass.
    `overhead_energy`: energy of the units that handle zeros, as a share of all other energy on the chip, dense work
    too; `overhead_area` likewise of the area.
    """

    skip: frozenset[str] = frozenset()
    gate: frozenset[str] = frozenset()
    balance: str = "none"
    formats: tuple[tuple[tuple[str, str], Format], ...] = ()
    events: tuple[Event, ...] = ()
    overhead_energy: float = 0.0
    overhead_area: float = 0.0
    overhead_source: str = ""
    capacity_quantile: float | None = None
    skip_block: int = 1
    compaction: bool = False
    monitor_samples: int = 0

    @property
    def in_blocks(self) -> bool:
        """Whether zeros are skipped in blocks that any unit may take, not word by word in the tile of a PE."""
        return self.skip_block > 1 or self.compaction

    def format(self, level: str, role: str) -> Format | None:
        """How a role is stored at a level; None: densely."""
        return dict(self.formats).get((level, role))

    def events_of(self, kind: str) -> tuple[Event, ...]:
        """The units that a kind of event costs energy in."""
        return tuple(event for event in self.events if event.kind == kind)
