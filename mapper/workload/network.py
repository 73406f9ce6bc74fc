"""Networks: ordered layers with repeat counts, shipped or from files, and the layer that a text names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mapper import shipped
from mapper.errors import InputError, did_you_mean
from mapper.workload import geometry
from mapper.workload.layer import EinsumLayer, Layer

FOLDER = "layer_zoo"
"""Where the networks that ship are."""


@dataclass(frozen=True)
class Network:
    """Layers in order, each under a name of its own.

    Totals count every layer `repeat` times. `other_params` are trained words that belong to no layer here
    (normalisation); `input` is the size of one sample, as (dimension, extent); `batch` the samples per step.
    """

    name: str
    layers: tuple[Layer, ...]
    input: tuple[tuple[str, int], ...] = ()
    other_params: int = 0
    description: str = ""
    batch: int = 1

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError(f"network '{self.name}' has no layers")
        for name, times in Counter(self.layer_names).items():
            if times > 1 or not name:
                raise InputError(f"network '{self.name}' has {times} layer{'s' * (times > 1)} named '{name}'")

    @property
    def layer_names(self) -> tuple[str, ...]:
        return tuple(layer.name for layer in self.layers)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Dimensions of the layers' einsums."""
        einsums = (part.einsum for layer in self for part in layer.parts(layer.phases()[0]))
        return tuple(dict.fromkeys(dimension for einsum in einsums for dimension in einsum.dimensions))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one forward pass."""
        return sum(layer.macs * layer.repeat for layer in self.layers)

    @property
    def weights(self) -> int:
        """Words of trained weights, biases not included."""
        return sum(layer.weights * layer.repeat for layer in self.layers)

    @property
    def biases(self) -> int:
        """Words of trained biases."""
        return sum(layer.biases * layer.repeat for layer in self.layers)

    @property
    def params(self) -> int:
        """Every trained word: weights, biases and those that belong to no layer."""
        return self.weights + self.biases + self.other_params

    def with_batch(self, batch: int) -> Network:
        """The same network on `batch` times as many samples."""
        layers = tuple(layer.with_batch(batch) for layer in self.layers)
        return replace(self, layers=layers, batch=self.batch * batch)

    def only(self, names: Iterable[str]) -> Network:
        """The network of the layers of those names, in its own order; all of it where no name is given."""
        wanted = {self[name].name for name in names}
        return replace(self, layers=tuple(layer for layer in self if layer.name in wanted)) if wanted else self

    def __getitem__(self, name: str) -> Layer:
        """The layer of that name; an error with the nearest name where there is none."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise InputError(f"network '{self.name}' has no layer '{name}'", hint=did_you_mean(name, self.layer_names))

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)


def network_names() -> tuple[str, ...]:
    """Names of the networks that ship."""
    return shipped.names(FOLDER)


def load_network(name: str | Path, batch: int = 1) -> Network:
    """The network that ships under `name`, or that of a file, for `batch` samples a step.

    >>> load_network("resnet18", batch=64)["fc"].macs
    32768000
    """
    from mapper.workload.zoofile import read_network

    geometry.count(str(name), "batch", batch)
    return read_network(network_file(name)).with_batch(batch)


def load_layer(text: str, batch: int = 1) -> Layer:
    """The layer that `text` names, for `batch` samples: `NETWORK:LAYER`, a file with one layer, or an einsum.

    >>> load_layer("resnet18:layer2.0.conv1").weights
    73728
    >>> load_layer("Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64").macs
    262144
    """
    if "+=" in text:
        return EinsumLayer.parse(text).with_batch(batch)
    colons = [i for i, character in enumerate(text) if character == ":"]
    for colon in colons:
        if _known(text[:colon]):
            return load_network(text[:colon], batch)[text[colon + 1 :]]
    if colons:
        return load_network(text[: colons[0]], batch)[text[colons[0] + 1 :]]
    if text in network_names():
        raise InputError(f"'{text}' is a network; which layer?", hint=f"{text}:{load_network(text).layers[0].name}")
    from mapper.workload.zoofile import read_layer

    return read_layer(network_file(text)).with_batch(batch)


def load_workload(text: str, batch: int = 1) -> Network:
    """A network, or the one layer that `text` names (see `load_layer`) as a network of that layer alone.

    >>> load_workload("resnet18:fc").layer_names
    ('fc',)
    """
    if "+=" in text:
        return Network("einsum", (load_layer(text, batch),), batch=batch)
    if ":" in text and not _known(text):
        layer = load_layer(text, batch)
        return replace(load_network(text.removesuffix(f":{layer.name}"), batch), layers=(layer,))
    from mapper.workload.zoofile import read_workload

    geometry.count(text, "batch", batch)
    return read_workload(network_file(text)).with_batch(batch)


def whole_network(text: str, batch: int = 1) -> Network:
    """The network of all layers around what `load_workload` gives.

    >>> len(whole_network("resnet18:fc"))
    21
    """
    if "+=" not in text and ":" in text and not _known(text):
        return load_network(text.removesuffix(f":{load_layer(text).name}"), batch)
    return load_workload(text, batch)


def workload_file(text: str) -> Path | None:
    """The file that `load_workload` reads for `text`; None for an einsum, which is all in its text."""
    if "+=" in text:
        return None
    if ":" in text and not _known(text):
        return network_file(text.removesuffix(f":{load_layer(text).name}"))
    return network_file(text)


def _known(name: str) -> bool:
    return name in network_names() or shipped.is_file(name)


def network_file(name: str | Path) -> Path:
    """The file of a shipped name or a path."""
    return shipped.locate(FOLDER, name)
