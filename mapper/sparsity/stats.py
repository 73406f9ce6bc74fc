"""What masks are like: how full, how differently filled, how clumpy, and who would wait for whom.

*Dispersion* is the correlation of two words of a tile (beta-binomial, `Dispersed`), and depends on the tile: it is
fitted to kernels (R x S), to filters (all weights of an output channel) and to the work tiles of the partitioning KN.
None where a tile is a single word or there is only one.

*Imbalance* is that of an array of 16 x 16 PEs with 256 words each, as `work_on_array` cuts a layer: the mean over
working sets of busiest PE / mean PE. It ranks partitionings; what a mapping costs is for `mapper search`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mapper.mapping.loopnest import Ints
from mapper.mapping.partitioning import STANDARD, parse_partitioning, spread
from mapper.sparsity.balance import imbalance
from mapper.sparsity.density import Actual, block_sums, fit_dispersion
from mapper.sparsity.masks import Masks
from mapper.sparsity.model import Floats, Shape
from mapper.sparsity.work import Cut, Work
from mapper.workload.einsum import Einsum, divisors
from mapper.workload.layer import Layer
from mapper.workload.network import Network

LANES, TILE_WORDS = 16, 256
"""Lanes per axis and words per PE of the array that imbalance is stated for: the Procrustes baseline (MICRO 2020)."""


@dataclass(frozen=True)
class LayerStats:
    """One layer's mask. `filters` are the densities of its output channels, in order; `repeat` its equal instances."""

    name: str
    repeat: int
    shape: Shape
    nonzeros: int
    macs: int
    filters: Floats
    dispersion_kernel: float | None
    dispersion_tile: float | None
    dispersion_filter: float | None
    imbalance: tuple[tuple[str, float], ...]
    """Of each partitioning."""

    @property
    def size(self) -> int:
        """Weights of one instance."""
        return math.prod(self.shape)

    @property
    def density(self) -> float:
        return self.nonzeros / self.size

    @property
    def zero_filters(self) -> int:
        """Output channels without a weight."""
        return int((self.filters == 0).sum())

    @property
    def effectual_macs(self) -> float:
        """Forward multiply-accumulates whose weight is kept, if all weights are used equally often."""
        return self.macs * self.density


def layer_stats(layer: Layer, mask: Actual, balance: str = "none") -> LayerStats:
    """Statistics of one layer's mask, axes G, K, C, R, S."""
    einsum = layer.einsums("fw")[0]
    _, _, C, R, S = mask.array.shape
    works = {name: work_on_array(einsum, name) for name in STANDARD}
    kernels = block_sums(mask.array, (1, 1, 1, R, S))
    filters = kernels.sum(axis=(2, 3, 4)).ravel()
    tile = works["KN"].tile
    return LayerStats(
        name=layer.name,
        repeat=layer.repeat,
        shape=mask.array.shape,
        nonzeros=int(filters.sum()),
        macs=layer.macs,
        filters=filters / (C * R * S),
        dispersion_kernel=_dispersion(kernels, R * S),
        dispersion_tile=_dispersion(_whole_tiles(mask, tile), math.prod(tile)),
        dispersion_filter=_dispersion(filters, C * R * S),
        imbalance=tuple((name, imbalance(mask, work, balance).mean) for name, work in works.items()),
    )


def masks_stats(network: Network, masks: Masks, balance: str = "none") -> tuple[LayerStats, ...]:
    """Statistics of every mask, in the network's order."""
    return tuple(layer_stats(layer, masks[layer.name], balance) for layer in network if layer.name in masks)


def rows(stats: Iterable[LayerStats]) -> list[dict[str, object]]:
    """A row per layer, figures of one instance, and a row `total` of the network, repeats counted.

    The total's imbalance weighs layers by their effectual multiply-accumulates.
    """
    every = list(stats)
    return [_row(one) for one in every] + [_total(every)]


def work_on_array(einsum: Einsum, partitioning: str) -> Work:
    """A plausible cut of a layer's weights on the array: each spread dimension over the lanes of its axis.

    The tile of a PE has 2 indices of each spread dimension where a lane has as many, and always an even number, so that
    halves can be exchanged; then as much of S, R, C, K and G as fits, in that order, each by a divisor of what a lane
    has. The remaining indices are rounds.
    """
    weights = einsum.operands[0]
    extents = {rank[0].dimension: einsum.extent[rank[0].dimension] for rank in weights.ranks}
    lanes = _lanes(einsum, partitioning, extents)
    shares = {d: math.ceil(extent / lanes.get(d, 1)) for d, extent in extents.items()}
    halved = {d for d in lanes if shares[d] > 1}
    tile = {d: 2 if d in halved else 1 for d in extents}
    for d in reversed(extents):
        room = TILE_WORDS // (math.prod(tile.values()) // tile[d])
        least = tile[d]
        tile[d] = max([least, *(least * n for n in divisors(math.ceil(shares[d] / least)) if least * n <= room)])
    return Work(tuple(_cut(d, extents[d], lanes.get(d, 1), tile[d]) for d in extents))


def _lanes(einsum: Einsum, partitioning: str, extents: Mapping[str, int]) -> dict[str, int]:
    """Lanes of the dimensions of the weights: the first of an axis takes as many as it has indices."""
    lanes: dict[str, int] = {}
    for axis in spread(parse_partitioning(partitioning, einsum.dimensions), einsum):
        free = LANES
        for d in axis:
            used = min(free, einsum.extent[d])
            free //= used
            if d in extents and used > 1:
                lanes[d] = used
    return lanes


def _cut(dimension: str, extent: int, lanes: int, tile: int) -> Cut:
    rounds = math.ceil(extent / (lanes * tile))
    digits = tuple((over_lanes, n) for over_lanes, n in ((False, rounds), (True, lanes)) if n > 1)
    return Cut(dimension, extent, digits, tile)


def _whole_tiles(mask: Actual, tile: Shape) -> Ints:
    """Nonzeros of the tiles that the mask's end does not cut."""
    whole = tuple(slice(0, extent - extent % part) for extent, part in zip(mask.array.shape, tile, strict=True))
    return block_sums(mask.array[whole], tile)


def _dispersion(counts: Ints, words: int) -> float | None:
    """Correlation of two words of a tile; None where a tile has one word, or there is one tile."""
    if words == 1 or counts.size < 2:
        return None
    return float(fit_dispersion(counts.ravel(), words)[1])


def _row(one: LayerStats) -> dict[str, object]:
    return {
        "layer": one.name,
        "repeat": one.repeat,
        "shape": "x".join(map(str, one.shape)),
        "weights": one.size,
        "nonzeros": one.nonzeros,
        "density": one.density,
        **_spread(one.filters),
        "zero_filters": one.zero_filters,
        "dispersion_kernel": one.dispersion_kernel,
        "dispersion_tile": one.dispersion_tile,
        "dispersion_filter": one.dispersion_filter,
        **{f"imbalance_{name}": value for name, value in one.imbalance},
    }


def _total(every: list[LayerStats]) -> dict[str, object]:
    weights = sum(one.size * one.repeat for one in every)
    nonzeros = sum(one.nonzeros * one.repeat for one in every)
    return {
        "layer": "total",
        "repeat": sum(one.repeat for one in every),
        "shape": "",
        "weights": weights,
        "nonzeros": nonzeros,
        "density": nonzeros / weights if weights else None,
        **_spread(np.concatenate([np.tile(one.filters, one.repeat) for one in every] or [np.zeros(0)])),
        "zero_filters": sum(one.zero_filters * one.repeat for one in every),
        **dict.fromkeys(("dispersion_kernel", "dispersion_tile", "dispersion_filter")),
        **{f"imbalance_{name}": _weighted(every, name) for name in STANDARD},
    }


def _spread(filters: Floats) -> dict[str, object]:
    """Mean, standard deviation and range of the densities of filters."""
    names = ("filter_mean", "filter_std", "filter_min", "filter_max")
    if not filters.size:
        return dict.fromkeys(names)
    return dict(zip(names, map(float, (filters.mean(), filters.std(), filters.min(), filters.max())), strict=True))


def _weighted(every: list[LayerStats], partitioning: str) -> float | None:
    """Mean imbalance by effectual multiply-accumulates; even where there are none."""
    work = [one.effectual_macs * one.repeat for one in every]
    if not sum(work):
        return 1.0 if every else None
    return sum(w * dict(one.imbalance)[partitioning] for w, one in zip(work, every, strict=True)) / sum(work)
