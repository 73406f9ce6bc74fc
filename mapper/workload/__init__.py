"""What is computed: einsums, layers, phases and networks."""

from mapper.workload.einsum import Einsum, Rank, Tensor, Term
from mapper.workload.layer import Conv2d, EinsumLayer, Layer, Linear, Matmul, ThreePhaseLayer
from mapper.workload.network import Network, load_layer, load_network, network_names
from mapper.workload.phase import Part, Phase
from mapper.workload.window import Walk, Window

__all__ = [
    "Conv2d",
    "Einsum",
    "EinsumLayer",
    "Layer",
    "Linear",
    "Matmul",
    "Network",
    "Part",
    "Phase",
    "Rank",
    "Tensor",
    "Term",
    "ThreePhaseLayer",
    "Walk",
    "Window",
    "load_layer",
    "load_network",
    "network_names",
]
