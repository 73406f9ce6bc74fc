"""The network of a fan-out: how words get from a level to its children and back, and what a bit on its way costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Amount = TypeVar("Amount", float, NDArray[np.float64])

SUFFIX = "_network"
"""The network below a level is a component of its own, named after the level."""
TOPOLOGIES = ("bus", "mesh", "tree", "crossbar", "benes")


@dataclass(frozen=True)
class Network:
    """Of one instance of a level, X columns by Y rows of children, one tile each.

    * `bus`: a bus per row, one per column, and one that reaches every child alone. A bus carries both directions.
    * `mesh`: a router per child; the parent feeds the first one. Words go along the first row, then down the columns.
    * `tree`: the parent, a node per row, the children.
    * `crossbar`: every child has a link of its own from one switch.
    * `benes`: a rearrangeable network of 2 log2(children) - 1 stages.

    `wire_pj_per_bit_mm`: picojoules of a bit per millimetre of driven wire; `tile_mm`: width of a child;
    `switch_pj_per_bit`: of a bit through a router, a switch, a node or onto a bus. `link_bits_per_cycle` None:
    unlimited; it is the width of a link too. Areas None: unknown.
    """

    topology: str
    tile_mm: float
    wire_pj_per_bit_mm: float
    switch_pj_per_bit: float
    source: str
    link_bits_per_cycle: Fraction | None = None
    link_bits: int | None = None
    wire_um2_per_bit_mm: float | None = None
    switch_um2: float | None = None

    def picojoules(self, hops: Amount, tiles: Amount) -> Amount:
        """Of a bit that passes so many switches and so many tiles of wire."""
        return hops * self.switch_pj_per_bit + tiles * (self.tile_mm * self.wire_pj_per_bit_mm)
