"""How unevenly working sets are filled: the busiest PE over the mean PE, less one.

Every working set of the best mappings counts, as often as the array loads it and as often as its layer occurs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mapper.cost.waiting import array_loads
from mapper.sparsity.model import Floats
from procrustes.costs import Best


@dataclass(frozen=True, eq=False)
class Overheads:
    """Overheads of working sets, ascending, with the share of all sets that each stands for."""

    values: Floats
    shares: Floats

    @property
    def mean(self) -> float:
        return float(self.values @ self.shares)

    def at(self, share: float) -> float:
        """The overhead that so large a share of the sets does not exceed."""
        place = int(np.searchsorted(np.cumsum(self.shares), share * (1 - 1e-12)))
        return float(self.values[min(place, len(self.values) - 1)])

    def above(self, overhead: float) -> float:
        """Share of the sets with more than that."""
        return float(self.shares[self.values > overhead].sum())


def overheads(best: Iterable[Best], phases: Iterable[str]) -> Overheads | None:
    """Of all parts in these phases; None where zeros save no cycles in any."""
    asked = set(phases)
    values, weights = [], []
    for each in best:
        found = each.evaluation.imbalance
        if each.phase not in asked or found is None or found.work is None:
            continue
        sets = found.distribution - 1
        visits = _loads(each) * each.task.layer.repeat
        values.append(sets)
        weights.append(np.full(len(sets), visits / len(sets)))
    if not values:
        return None
    together, counted = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(together, kind="stable")
    return Overheads(together[order], counted[order] / counted.sum())


def _loads(each: Best) -> int:
    """How often the array loads work tiles."""
    evaluation = each.evaluation
    tensor = evaluation.einsum.operands[0]
    names = evaluation.nests.keeps
    level = max(i for i, kept in enumerate(names) if i == 0 or tensor.name in kept)
    return int(array_loads(evaluation.nests, tensor, level)[0])
