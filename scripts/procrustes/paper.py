"""What the Procrustes paper reports, and what is known about the densities that it measured but did not publish.

Sources: "P" Yang et al., "Procrustes: a Dataflow and Accelerator for Sparse Deep Neural Network Training", MICRO 2020;
"S" its authors' public simulator (github.com/compstruct/procrustes-timeloop-model); "T" the tables of densities in
Timeloop (github.com/NVlabs/timeloop, src/data/cnn/cnn-densities.hpp); "M" the masks of the artifact of Sparseloop
(MICRO 2022, github.com/Accelergy-Project/micro22-sparseloop-artifact). None is a figure that is in no source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One of the five networks: weights / weights kept, and what sparse training saves over the dense baseline."""

    network: str
    compression: float
    compression_source: str
    energy_saving: float | None = None
    speedup: float | None = None


PUBLISHED = (
    Published("resnet18", 11.7, "P: 11.7M weights, 1M kept", energy_saving=3.26),
    Published("mobilenet_v2", 10.0, "P", energy_saving=2.39, speedup=3.88),
    Published("vgg_s", 5.2, "P: realised, of a target of 7.5"),
    Published("wrn_28_10", 4.0, "about; the exact figure is in no source used here", speedup=4.0),
    Published("densenet_g24", 4.0, "about; the exact figure is in no source used here"),
)
"""P, Abstract and evaluation."""

ENERGY_SAVINGS = (2.27, 3.26)
"""Least and most of the five networks (P)."""
MOST_SPEEDUP = 4.0
"""Of the five networks (P)."""
ORDER = ("KN", "CN", "CK", "PQ")
"""Partitionings, fewest cycles first (P)."""
OVERHEADS = {
    "CK": "often above 50 %, sometimes above 100 %",
    "KN": "mostly below 10 %, at most 30 %",
}
"""Of a working set: C,K without balancing, K,N with it (P)."""
NEAR = 0.25
"""A figure is met where it is within this share of the paper's."""

VGG16 = {
    "conv1_2": 0.506188,
    "conv2_1": 0.896687,
    "conv2_2": 0.786959,
    "conv3_1": 0.813013,
    "conv3_2": 0.638544,
    "conv3_3": 0.688107,
    "conv4_1": 0.706623,
    "conv4_2": 0.50143,
    "conv4_3": 0.451458,
    "conv5_1": 0.392797,
    "conv5_2": 0.330477,
    "conv5_3": 0.305674,
}
"""Density of the inputs of VGG-16's layers (T). VGG-S has the same convolutions, on smaller images."""

MEANS = {"VGG-16": 0.58483, "AlexNet": 0.64360, "GoogLeNet": 0.55653}
"""Mean density of the inputs of a network's layers but the first (T: 12, 5 and 54 layers)."""

MOBILENET = 0.69281
"""Mean density of the inputs of eight layers of a pruned MobileNet 0.5 (M)."""
