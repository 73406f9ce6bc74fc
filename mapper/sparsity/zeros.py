"""What zeros save: which words move, in how many bits, and which points are executed.

The hardware (`arch.zeros`) skips or gates the zeros of some roles and stores some tensors in compressed formats; a
`Sparsity` says how dense the tensors are. Both together scale the dense counts (`Moves`):

* Where a tensor is stored in a format, nonzeros and metadata move, else every word.
* A point is *effectual* where the words of every skipped or gated tensor are nonzero. Reads for compute of a tensor
  whose innermost level is private to a PE follow effectual points; so do updates and reads of partial sums there. A
  level that several PEs share serves all that any of them wants: only the tensor's own zeros count.

For known masks these are exact counts; for statistical densities they are expectations. A plain operand enters every
tile equally often, word by word, so the nonzeros among its moved words are exactly `words * nonzeros / size`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mapper.arch.accelerator import Accelerator
from mapper.arch.zeros import Format, Zeros
from mapper.counts.traffic import Action
from mapper.mapping.loopnest import Ints
from mapper.sparsity.blocks import kept_share
from mapper.sparsity.formats import Metadata, bits_per_word, spans, used
from mapper.sparsity.known import Actual, Placed
from mapper.sparsity.model import Density, Floats
from mapper.sparsity.pairs import effectual_pairs
from mapper.workload.einsum import Einsum, Tensor

Keeps = Sequence[frozenset[str]]


@dataclass(frozen=True)
class Sparsity:
    """Densities of tensors of an einsum by name, those that are not dense; `balance` None: what the hardware does."""

    densities: tuple[tuple[str, Density], ...] = ()
    balance: str | None = None

    def of(self, tensor: Tensor) -> Density | None:
        """The density of a tensor; None: dense."""
        return dict(self.densities).get(tensor.name)


DENSE = Sparsity()


@dataclass(frozen=True)
class Scale:
    """What becomes of dense words: a share of them moves, at so many bits a dense word.

    `share` is (numerator, denominator): the product stays exact where both are counts.
    """

    share: tuple[float, float]
    metadata: float = 0.0

    def words(self, words: Ints) -> Floats:
        """Words that move."""
        return np.asarray(words * self.share[0] / self.share[1])

    def width(self, bits: float) -> float:
        """Bits per dense word, of a word of `bits`."""
        return bits * self.share[0] / self.share[1] + self.metadata


def share_of(density: Density | None) -> tuple[float, float]:
    """Nonzeros and size where they are known, (mean, 1) else."""
    if isinstance(density, Placed):
        return float(density.nonzeros), float(density.size)
    return (1.0 if density is None else density.mean), 1.0


class Moves:
    """Scales of every (level, tensor, action) under some kept tensors. `keeps`: names per level, level 0 keeps all."""

    def __init__(self, einsum: Einsum, accelerator: Accelerator, sparsity: Sparsity, keeps: Keeps) -> None:
        self.einsum, self.accelerator = einsum, accelerator
        self.zeros = accelerator.zeros or Zeros()
        self.sparsity = sparsity if accelerator.zeros else DENSE
        self.keeps = keeps
        self.shares = {t.name: share_of(self.sparsity.of(t)) for t in einsum.tensors}
        self._scales: dict[tuple[int, str, str], Scale | None] = {}
        self.balance = sparsity.balance or self.zeros.balance
        self.executed = {t.name: self._executed(t) for t in einsum.operands}
        self.acting = [t for t in einsum.operands if self._sparse(t) and t.role in self.zeros.skip | self.zeros.gate]
        self.pairs = self._count(self.skipped) if len(self.skipped) > 1 else None
        self.effectual = self._product(self.acting)

    def _executed(self, tensor: Tensor) -> tuple[float, float]:
        """Share of a tensor's words that are worked off: zeros in a block with a nonzero are."""
        density = self.sparsity.of(tensor)
        if density is None or not self.zeros.in_blocks:
            return self.shares[tensor.name]
        return kept_share(density, spans(tensor, self.einsum), self.zeros.skip_block, self.zeros.compaction)

    def _sparse(self, tensor: Tensor) -> bool:
        density = self.sparsity.of(tensor)
        return density is not None and density.mean < 1.0

    @property
    def dense(self) -> bool:
        """Whether nothing is saved."""
        return not any(map(self._sparse, self.einsum.tensors))

    def _count(self, tensors: Sequence[Tensor]) -> int | None:
        """Points where the words of all `tensors` are nonzero; None where a mask is not known."""
        if self.zeros.in_blocks:
            return None
        return effectual_pairs(self.einsum, {t.name: self.sparsity.of(t) for t in tensors})

    def _product(self, tensors: Sequence[Tensor]) -> tuple[float, float]:
        """Share of the points where the words of all `tensors` are nonzero: counted, or taken as independent."""
        alone = len(tensors) == 1 and all(len(rank) == 1 and rank[0].coefficient == 1 for rank in tensors[0].ranks)
        counted = None if alone or not tensors else self._count(tensors)
        if counted is not None:
            return float(counted), float(self.einsum.points)
        top, bottom = 1.0, 1.0
        for tensor in tensors:
            top, bottom = top * self.executed[tensor.name][0], bottom * self.executed[tensor.name][1]
        return top, bottom

    @property
    def skipped(self) -> list[Tensor]:
        """Operands whose zeros take no cycle."""
        return [t for t in self.acting if t.role in self.zeros.skip]

    @property
    def effectual_points(self) -> int | float:
        """Points whose skipped and gated words are nonzero; a whole number for known masks."""
        points = Fraction(self.effectual[0]) * self.einsum.points / Fraction(self.effectual[1])
        return int(points) if points.denominator == 1 else float(points)

    @property
    def effectual_macs(self) -> int | float:
        """The share of the layer's macs that is effectual."""
        macs = Fraction(self.effectual[0]) * self.einsum.macs / Fraction(self.effectual[1])
        return int(macs) if macs.denominator == 1 else float(macs)

    # Levels.

    def innermost(self, tensor: Tensor) -> int:
        """The innermost level that keeps a tensor."""
        return max(level for level, names in enumerate(self.keeps) if level == 0 or tensor.name in names)

    def private(self, level: int) -> bool:
        """Whether a level serves one PE."""
        return all(below.fanout.lanes == 1 for below in self.accelerator.levels[level:])

    def format(self, level: int, tensor: Tensor) -> Format | None:
        """The format a sparse tensor is stored in; None: stored densely."""
        found, density = self.zeros.format(self.accelerator.level_names[level], tensor.role), self.sparsity.of(tensor)
        if found is None or density is None or used(found, density.mean).kind == "dense":
            return None
        return found

    def stored(self, level: int, tensor: Tensor) -> tuple[float, float]:
        """Share of the words that are stored: the nonzeros, or N of every M."""
        found = self.format(level, tensor)
        return (float(found.n), float(found.m)) if found and found.kind == "n_m" else self.shares[tensor.name]

    def metadata(self, level: int, tensor: Tensor) -> Metadata | None:
        """Metadata bits of a sparse tensor where it is stored in a format; None: stored densely."""
        found = self.format(level, tensor)
        return None if found is None else bits_per_word(found, tensor, self.einsum)

    def compressed(self, level: int, tensor: Tensor) -> bool:
        """Whether a tile needs the room of its nonzeros only; else any tile may be dense."""
        return self.zeros.capacity_quantile is not None and self.metadata(level, tensor) is not None

    def scale(self, level: int, tensor: Tensor, action: Action, for_compute: bool = False) -> Scale | None:
        """Of an action at a level; `for_compute`: it exchanges words with compute. None: as dense."""
        key = (level, tensor.name, f"{action} {for_compute}")
        if key not in self._scales:
            self._scales[key] = None if self.dense else self._scale(level, tensor, action, for_compute)
        return self._scales[key]

    def _scale(self, level: int, tensor: Tensor, action: Action, for_compute: bool) -> Scale | None:
        metadata = self.metadata(level, tensor)
        output = tensor == self.einsum.output
        if for_compute and action in ("reads", "updates"):
            if output:
                share = self.effectual if self.private(level) and self.acting else None
                return None if share is None else Scale(share)
            own = metadata is not None or (tensor in self.acting and tensor.role in self.zeros.skip)
            share = self._for_compute(level, tensor, own)
        elif metadata is None:
            return None
        else:
            share = self.stored(level, tensor)
        if metadata is None:
            return Scale(share)
        return Scale(share, float(metadata.per_position) + metadata.per_nonzero * share[0] / share[1])

    def _for_compute(self, level: int, tensor: Tensor, own: bool) -> tuple[float, float]:
        """Share of an operand's words that compute reads."""
        if not self.private(level):
            return self.executed[tensor.name] if own else (1.0, 1.0)
        others = [other for other in self.acting if other != tensor]
        if level == 0 and any(tensor.stored):
            counted = self._stored_pairs(tensor, others, own)
            if counted is not None:
                return counted
        return self._product([*others, tensor] if own else others)

    def _stored_pairs(self, tensor: Tensor, others: Sequence[Tensor], own: bool) -> tuple[float, float] | None:
        """Share of the points on stored words of `tensor` that are effectual: padding is read by nobody."""
        window = np.zeros(spans(tensor, self.einsum), dtype=bool)
        window[tuple(slice(None) if found is None else slice(*found) for found in tensor.stored)] = True
        density = self.sparsity.of(tensor)
        if own and not isinstance(density, Placed):
            return None
        mine = Actual(window & density.array) if own and isinstance(density, Placed) else Actual(window)
        masks = {t.name: self.sparsity.of(t) for t in others}
        counted = effectual_pairs(self.einsum, {**masks, tensor.name: mine})
        every = effectual_pairs(self.einsum, {tensor.name: Actual(window)})
        return None if counted is None or every is None else (float(counted), float(max(every, 1)))

    # Counts.

    def moved(self, level: int, tensor: Tensor, action: Action, words: Ints, bits: Ints) -> tuple[Ints, Ints]:
        """(words, bits) that move where dense ones would be `words` and `bits`; whole numbers stay integers."""
        scale = self.scale(level, tensor, action, level == self.innermost(tensor) and action in ("reads", "updates"))
        if scale is None:
            return words, bits
        some = scale.words(words)
        return whole(some), whole(scale.words(bits) + words * scale.metadata)


def whole(values: Floats) -> Ints:
    """Integers where all are whole; expectations else."""
    rounded = np.rint(values)
    return rounded.astype(np.int64) if (rounded == values).all() else values  # type: ignore[return-value]
