"""Bits behind the words: finished outputs are narrower than partial sums.

The last update of each accumulated word into a level is final if no reduction loop, temporal or spatial, stands above
that level, and so is then what drains from it; every other update, and every refill, is a partial sum. A stored tile
has partial-sum width at the innermost level that keeps it and wherever a reduction loop stands above it.
"""

from __future__ import annotations

import numpy as np

from mapper.arch.accelerator import Accelerator
from mapper.counts.geometry import Bools, Geometry
from mapper.counts.traffic import Action, kept_levels
from mapper.mapping.loopnest import Ints
from mapper.workload.einsum import Tensor


class Precision:
    """Bits of words on their way and at rest, for the mappings of one geometry on one accelerator."""

    def __init__(self, geometry: Geometry, accelerator: Accelerator) -> None:
        self.geometry, self.accelerator = geometry, accelerator
        self.output = geometry.nests.einsum.output
        self.innermost = kept_levels(geometry.nests, self.output)[-1]

    def reduced_above(self, level: int) -> Bools:
        """Whether a reduction loop stands above `level`."""
        nests = self.geometry.nests
        out = np.zeros(len(nests), dtype=bool)
        for slot, factors in zip(nests.slots, self.geometry.factors, strict=True):
            if slot.level < level and slot.dimension in nests.einsum.reductions:
                out |= factors > 1
        return out

    def stored_bits(self, tensor: Tensor, level: int) -> Ints:
        """Bits of one stored word of `tensor` at `level`."""
        final, partial = self.accelerator.operand_bits(tensor), self.accelerator.partial_sum_bits
        if tensor != self.output:
            return np.full(len(self.geometry.nests), final, dtype=np.int64)
        partials = self.reduced_above(level) | (level == self.innermost)
        return np.where(partials, partial, final).astype(np.int64)

    def moved_bits(self, tensor: Tensor, level: int, action: Action, words: Ints, distinct: Ints | int) -> Ints:
        """Bits of `words` moved at `level`; `distinct`: accumulated words whose last update may be final there."""
        final, partial = self.accelerator.operand_bits(tensor), self.accelerator.partial_sum_bits
        if tensor != self.output:
            return words * final
        if action == "drains":
            return words * np.where(self.reduced_above(level), partial, final)
        if action == "updates":
            finals = np.where(self.reduced_above(level), 0, distinct)
            return finals * final + (words - finals) * partial
        return words * partial
