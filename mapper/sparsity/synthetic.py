"""Masks that no training made: a density shared out among the layers, and a pattern inside each.

| pattern | densities of layers (`allocate.py`) | words of a layer |
|---|---|---|
| `uniform` | all equal | so many nonzeros, anywhere |
| `erk` | Erdos-Renyi-Kernel | so many nonzeros, anywhere |
| `global` | one magnitude threshold, as initialised | so many nonzeros, anywhere |
| `dispersed` | all equal | clumps, each with its own density |
| `block` | all equal | whole kernels; 4 x 4 of K x C where a kernel is one word |
| `N:M` | n/m | n of m consecutive words along C, in every layer whose C they divide; the others stay dense |

`dispersion` makes clumps of any of the first three.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mapper.errors import InputError, did_you_mean
from mapper.sparsity.allocate import Densities, erk, global_magnitude, uniform
from mapper.sparsity.density import Blocks, Density, Dispersed, Exactly, Structured
from mapper.sparsity.maskaxes import WeightSizes
from mapper.sparsity.masks import weighted_layers
from mapper.sparsity.model import Bools, Shape
from mapper.workload.layer import Linear
from mapper.workload.network import Network

PATTERNS = ("uniform", "erk", "global", "dispersed", "block")
"""Patterns beside N:M."""
DISPERSION = 0.1
"""Dispersion of `dispersed` where none is given."""
SIDE = 4
"""Blocks of layers whose kernel is one word are SIDE x SIDE of K x C."""

_C = 2
"""Place of C in G, K, C, R, S."""


@dataclass(frozen=True)
class Recipe:
    """How masks are made. `clump` is the words that share a density; None: a kernel, or a filter of 1 x 1 kernels."""

    pattern: str = "uniform"
    density: float | None = None
    dispersion: float | None = None
    clump: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS and self.structured is None:
            raise InputError(f"no pattern '{self.pattern}'", hint=did_you_mean(self.pattern, (*PATTERNS, "2:4")))
        if self.structured is None and self.density is None:
            raise InputError(f"pattern {self.pattern} of which density?", hint="--density 0.1")
        if self.structured and self.density not in (None, self.structured.mean):
            kept = f"density {self.density}, but {self.pattern} keeps {self.structured.mean:g}"
            raise InputError(kept, hint="leave the density out")
        if self.pattern == "block" or self.structured:
            for name, value in (("dispersion", self.dispersion), ("clump", self.clump)):
                if value is not None:
                    raise InputError(f"pattern {self.pattern} has no {name}", hint="uniform, erk, global, dispersed")
        if self.clump is not None and not self.clumpy:
            raise InputError(f"clumps of {self.clump} words of no dispersion", hint="--dispersion 0.1")

    @property
    def structured(self) -> Structured | None:
        """The pattern where it is N:M."""
        match = re.fullmatch(r"([0-9]{1,6}):([0-9]{1,6})", self.pattern)
        return Structured(int(match[1]), int(match[2]), axis=_C) if match else None

    @property
    def clumpy(self) -> bool:
        """Whether words of a layer are dispersed."""
        return self.pattern == "dispersed" or self.dispersion is not None

    def densities(self, network: Network) -> Densities:
        """Density of every layer with weights."""
        sizes = _sizes(network)
        shapes = {name: one.stored if _is_conv(network, name) else one.stored[:2] for name, one in sizes.items()}
        if self.structured:
            return {n: self.structured.mean if s.C % self.structured.m == 0 else 1.0 for n, s in sizes.items()}
        density = -1.0 if self.density is None else self.density
        repeats = {name: layer.repeat for name, layer in weighted_layers(network).items()}
        if self.pattern == "erk":
            return erk(shapes, density, repeats)
        return global_magnitude(shapes, density, repeats) if self.pattern == "global" else uniform(shapes, density)

    def model(self, density: float, shape: Shape) -> Density:
        """Where the nonzeros of a layer of `shape` (G, K, C, R, S) are."""
        _, K, C, R, S = shape
        if density in (0.0, 1.0):
            return Exactly(density, math.prod(shape))
        if self.structured:
            return self.structured
        if self.clumpy:
            dispersion = DISPERSION if self.dispersion is None else self.dispersion
            return Dispersed(density, dispersion, self.clump or (R * S if R * S > 1 else C))
        if self.pattern == "block":
            return Blocks(density, (R, S) if R * S > 1 else (min(SIDE, K), min(SIDE, C), 1, 1))
        return Exactly(density, math.prod(shape))


def make_masks(network: Network, recipe: Recipe) -> Iterator[tuple[str, Bools]]:
    """A mask of every layer that has weights, one after the other, with axes as files have them: K, C, R, S, or K, C.

    A layer's mask depends on the seed and its place in the network alone.
    """
    densities = recipe.densities(network)
    for place, (name, sizes) in enumerate(_sizes(network).items()):
        rng = np.random.default_rng([recipe.seed, place])
        mask = recipe.model(densities[name], sizes.canonical).mask(sizes.canonical, rng)
        yield name, mask.reshape(sizes.stored if _is_conv(network, name) else sizes.stored[:2])


def write_npz(masks: Iterator[tuple[str, Bools]] | Mapping[str, Bools], path: Path) -> None:
    """Write masks to `path` one by one, compressed; the same masks give the same bytes. Raises `OSError`."""
    pairs = masks.items() if isinstance(masks, Mapping) else masks
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, mask in pairs:
            # A member of its own making has a fixed date, where NumPy's have that of the day.
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, mask, allow_pickle=False)


def _sizes(network: Network) -> dict[str, WeightSizes]:
    sizes = {name: WeightSizes.of(layer) for name, layer in weighted_layers(network).items()}
    if not sizes:
        raise InputError(f"no layer of '{network.name}' has weights")
    return sizes


def _is_conv(network: Network, name: str) -> bool:
    return not isinstance(network[name], Linear)
