"""Networks as files: the strict model of the YAML, and what it says as layers.

For example:

    name: example
    input: {C: 3, H: 32, W: 32}
    layers:
      - {name: conv1, conv: {C: 3, K: 64, R: 3, S: 3, H: 32, W: 32, padding: 1}, input_gradient: false}
      - {name: fc, linear: {C: 64, K: 10, bias: true}}
      - {name: attention, matmul: {M: 128, N: 128, K: 64}, repeat: 12, batched: true}
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mapper.errors import InputError
from mapper.workload.geometry import FieldError
from mapper.workload.layer import Conv2d, Layer, Linear, Matmul, ThreePhaseLayer
from mapper.workload.network import Network
from mapper.yamlfile import Node, StrictModel, read, validate

Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]


class ConvEntry(StrictModel):
    """`conv:`, the fields of `Conv2d`; stride, dilation and padding are checked there."""

    C: Count = Field(description="input channels, over all groups")
    K: Count = Field(description="output channels, over all groups")
    R: Count = Field(description="filter height")
    S: Count = Field(description="filter width")
    H: Count | None = Field(None, description="input height without padding")
    W: Count | None = Field(None, description="input width without padding")
    P: Count | None = Field(None, description="output height")
    Q: Count | None = Field(None, description="output width")
    N: Count | None = Field(None, description="batch, 1 where it is not given")
    stride: Any = Field(None, description="one number, or [height, width]")
    dilation: Any = Field(None, description="one number, or [height, width]")
    padding: Any = Field(None, description="one number, [height, width], [top, bottom, left, right], or same")
    groups: Count | None = Field(None, description="groups; depthwise is groups = C = K")
    bias: bool = Field(False, description="one trained bias per output channel")


class LinearEntry(StrictModel):
    """`linear:`, the fields of `Linear`."""

    C: Count = Field(description="input features")
    K: Count = Field(description="output features")
    N: Count = Field(1, description="rows of one sample: 1, or tokens")
    bias: bool = Field(False, description="one trained bias per output feature")


class MatmulEntry(StrictModel):
    """`matmul:`, Z[M,N] = A[M,K] * B[K,N], a product of two activations."""

    M: Count = Field(description="rows of the first operand")
    N: Count = Field(description="columns of the second operand")
    K: Count = Field(description="reduction")


class LayerEntry(StrictModel):
    """One layer: its name, exactly one of `conv`, `linear` and `matmul`, and how often it occurs."""

    name: Text = Field(description="text, unique in the network")
    conv: ConvEntry | None = None
    linear: LinearEntry | None = None
    matmul: MatmulEntry | None = None
    repeat: Count = Field(1, description="how many equal layers the entry stands for")
    batched: bool | None = Field(None, description="matmul: one product per sample, so that a batch multiplies repeat")
    input_gradient: bool = Field(True, description="false where nothing trainable lies before the layer")


class InputEntry(StrictModel):
    """`input:`, the size of one sample."""

    N: Count | None = Field(None, description="tokens")
    C: Count | None = Field(None, description="channels, or features")
    H: Count | None = Field(None, description="height")
    W: Count | None = Field(None, description="width")


class NetworkEntry(StrictModel):
    """A whole file."""

    name: Text
    description: str = ""
    input: InputEntry | None = Field(None, description="size of one sample: C, H, W, or N (tokens), C")
    other_params: int = Field(0, ge=0, description="trained words that belong to no layer, as of normalisation")
    layers: list[LayerEntry] = Field(min_length=1)


KINDS: dict[str, type[ThreePhaseLayer]] = {"conv": Conv2d, "linear": Linear, "matmul": Matmul}
"""The kinds of layer by their key."""


def read_network(path: Path) -> Network:
    """The network of a file; one `InputError` with file and line for the first thing wrong."""
    node = read(path)
    entry = validate(NetworkEntry, node)
    nodes = [node.at("layers", i) for i in range(len(entry.layers))]
    _refuse_twins(entry.layers, nodes)
    layers = tuple(_layer(one, place) for one, place in zip(entry.layers, nodes, strict=True))
    sizes: dict[str, int] = entry.input.model_dump(exclude_none=True) if entry.input else {}
    _check_input(sizes, layers[0], node.at("input"))
    return Network(entry.name, layers, tuple(sizes.items()), entry.other_params, entry.description)


def read_layer(path: Path) -> Layer:
    """The one layer of a file: a network of one layer, or an entry of `layers:` by itself."""
    node = read(path)
    if node.child("layers") is None:
        return _layer(validate(LayerEntry, node), node)
    network = read_network(path)
    if len(network) > 1:
        hint = f"{path}:{network.layers[0].name}"
        raise InputError(f"'{network.name}' has {len(network)} layers; which one?", str(path), hint)
    return network.layers[0]


def read_workload(path: Path) -> Network:
    """The network of a file; an entry of `layers:` by itself is a network of that layer alone."""
    node = read(path)
    if node.child("layers") is None and any(node.child(kind) for kind in KINDS):
        layer = _layer(validate(LayerEntry, node), node)
        return Network(layer.name, (layer,))
    return read_network(path)


def _layer(entry: LayerEntry, node: Node) -> ThreePhaseLayer:
    kinds = [kind for kind in KINDS if getattr(entry, kind) is not None]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise node.error(f"{entry.name}: one kind of layer is wanted, found {found}", "conv, linear or matmul")
    kind = kinds[0]
    fields: dict[str, Any] = getattr(entry, kind).model_dump(exclude_none=True)
    if entry.batched is not None:
        if kind != "matmul":
            raise node.at("batched").error(f"{entry.name}: 'batched' of a {kind} layer", "only matmul has it")
        fields["batched"] = entry.batched
    fields |= {"name": entry.name, "repeat": entry.repeat, "input_gradient": entry.input_gradient}
    try:
        return KINDS[kind](**fields)
    except FieldError as error:
        raise node.at(kind, error.field).error(error.message, error.hint) from None


def _refuse_twins(entries: list[LayerEntry], nodes: list[Node]) -> None:
    first: dict[str, Node] = {}
    for entry, node in zip(entries, nodes, strict=True):
        if entry.name in first:
            raise node.error(f"a second layer named '{entry.name}'; the first is at {first[entry.name].where}")
        first[entry.name] = node


def _check_input(sizes: dict[str, int], layer: ThreePhaseLayer, node: Node) -> None:
    """The first layer reads the whole sample."""
    if sizes and prod(sizes.values()) != layer.input_words:
        shape = " x ".join(f"{name}={size}" for name, size in sizes.items())
        message = f"the input {shape} has {prod(sizes.values())} words, its first layer '{layer.name}' reads"
        raise node.error(f"{message} {layer.input_words}")
