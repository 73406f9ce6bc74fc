"""A small network and ways to write masks of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.workload import Conv2d, Linear, Matmul, Network

Arrays = dict[str, NDArray[Any]]

TOY = Network(
    "toy",
    (
        Conv2d(name="conv1", C=3, K=8, R=3, S=3, H=8, W=8),
        Conv2d(name="layer1.dw", C=8, K=8, R=3, S=3, H=6, W=6, groups=4),
        Conv2d(name="layer1.down.0", C=8, K=16, R=1, S=1, H=4, W=4, repeat=3),
        Matmul(name="qk", M=4, N=4, K=4),
        Linear(name="fc", C=16, K=10),
    ),
)
"""A convolution, one of four groups (K 2 and C 2 each), 1 x 1 layers, a linear layer, and one without weights."""

SHAPES = {"conv1": (8, 3, 3, 3), "layer1.dw": (8, 2, 3, 3), "layer1.down.0": (16, 8, 1, 1), "fc": (10, 16)}
"""Shapes as PyTorch stores them."""

ONE = Network("one", (Conv2d(name="conv1", C=3, K=8, R=3, S=3, H=8, W=8),))
"""One convolution."""


def some_masks(density: float = 0.5, seed: int = 0) -> Arrays:
    """Masks of `TOY` under its own names."""
    rng = np.random.default_rng(seed)
    return {name: rng.random(shape) < density for name, shape in SHAPES.items()}


def npz(path: Path, arrays: Arrays) -> Path:
    """Write arrays whose names may be anything."""
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path
