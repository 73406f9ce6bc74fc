"""Assumptions about the densities that the paper measured but did not publish, as inputs.

Weights: the compression of each network is the paper's, how it is shared out among the layers is not known. Stored
activations, whose zeros are skipped in the weight update: published tables where a network has one (VGG-S by its
namesake layers of VGG-16, MobileNetV2 by a pruned MobileNet), else the mean of three published networks. What no ReLU
has passed has no zeros: the images, and the outputs of MobileNetV2's linear bottlenecks. Gradients are dense: batch
normalisation destroys their zeros (P).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from mapper.errors import InputError, did_you_mean
from mapper.sparsity.allocate import erk, global_magnitude, uniform
from mapper.sparsity.given import ZerosGiven
from mapper.workload import Conv2d, Layer, Linear, Network
from procrustes.paper import MEANS, MOBILENET, PUBLISHED, VGG16

Shape = tuple[int, ...]
Shares = dict[str, float]

ALLOCATIONS: dict[str, Callable[[Mapping[str, Shape], float, Mapping[str, int]], Shares]] = {
    "erk": erk,
    "uniform": lambda shapes, density, _repeats: uniform(shapes, density),
    "global": global_magnitude,
}
"""How the density of a network is shared out among its layers: see `mapper.sparsity.allocate`."""
OTHERWISE = fmean(MEANS.values())
"""Density of a stored activation without a table: the mean of the three networks."""


@dataclass(frozen=True)
class Assumptions:
    """`activations`: one density for all that a ReLU has passed; None: published tables. `compressions` by network.

    `bottlenecks`: whether the outputs of linear bottlenecks are dense, as they are where no ReLU follows.
    """

    allocation: str = "erk"
    activations: float | None = None
    bottlenecks: bool = True
    compressions: tuple[tuple[str, float], ...] = field(
        default=tuple((each.network, each.compression) for each in PUBLISHED)
    )

    def __post_init__(self) -> None:
        if self.allocation not in ALLOCATIONS:
            raise InputError(f"no allocation '{self.allocation}'", hint=did_you_mean(self.allocation, ALLOCATIONS))
        for network, times in self.compressions:
            if times < 1:
                raise InputError(f"{network} is compressed {times:g} times", hint="1 or more")

    def compression(self, network: Network) -> float:
        """Weights / weights kept."""
        known = dict(self.compressions)
        if network.name not in known:
            raise InputError(f"no compression of '{network.name}'", hint=f"--compression {network.name}=4")
        return known[network.name]

    def compressed(self, given: Mapping[str, float]) -> Assumptions:
        """With the compressions that are given."""
        return replace(self, compressions=tuple((dict(self.compressions) | dict(given)).items()))

    def weights(self, network: Network) -> Shares:
        """Density of each layer's weights."""
        layers = [layer for layer in network if layer.weights]
        shapes = {layer.label: _shape(layer) for layer in layers}
        repeats = {layer.label: layer.repeat for layer in layers}
        return ALLOCATIONS[self.allocation](shapes, 1 / self.compression(network), repeats)

    def inputs(self, network: Network) -> Shares:
        """Density of each layer's stored input."""
        return {layer.label: self._input(network, layer) for layer in network}

    def _input(self, network: Network, layer: Layer) -> float:
        if not layer.input_gradient or (self.bottlenecks and _linear_bottleneck(network, layer)):
            return 1.0
        if self.activations is not None:
            return self.activations
        if network.name.startswith("vgg_s"):
            return VGG16.get(layer.label.removeprefix("f."), OTHERWISE)
        return MOBILENET if network.name.startswith("mobilenet") else OTHERWISE

    def zeros(self, network: Network, balance: str | None = None) -> ZerosGiven:
        """All of it, for the search."""
        found = ZerosGiven.of({"W": self.weights(network), "I": self.inputs(network)}, balance=balance)
        found.check(network.layers)
        return found

    def lines(self) -> list[str]:
        """One line per assumption, for the reader."""
        factors = ", ".join(f"{network} {times:g}x" for network, times in self.compressions)
        tables = f"VGG-16's for VGG-S, {MOBILENET:.3f} for MobileNetV2, {OTHERWISE:.3f} for the others"
        stored = tables if self.activations is None else f"{self.activations:g}"
        return [
            f"weights kept: {factors}; shared out among the layers by '{self.allocation}', placed independently",
            f"stored activations (skipped in wu): {stored}; images and outputs of linear bottlenecks dense",
            "gradients dense, activations of fw and gradients of bw neither skipped nor compressed",
        ]


def _shape(layer: Layer) -> Shape:
    """Of the weights as stored."""
    if isinstance(layer, Conv2d):
        return layer.K, layer.C // layer.groups, layer.R, layer.S
    if isinstance(layer, Linear):
        return layer.K, layer.C
    raise InputError(f"{layer.label}: neither a convolution nor a linear layer")


def _linear_bottleneck(network: Network, layer: Layer) -> bool:
    """Whether the input comes from a projection, which no ReLU follows (Sandler et al., CVPR 2018)."""
    names = network.layer_names
    place = names.index(layer.name)
    return place > 0 and names[place - 1].endswith("conv.project")
