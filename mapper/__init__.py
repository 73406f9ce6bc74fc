"""mapper: how the training of a sparse neural network should run on a spatial accelerator.

>>> import mapper
>>> gemm = mapper.Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=64, N=64, K=64)
>>> gemm.macs
262144

Names load on first use: `import mapper` imports nothing heavy.
"""

from typing import TYPE_CHECKING

from mapper.errors import InfeasibleError, InputError, MapperError, MappingError
from mapper.lazy import lazy_getattr

if TYPE_CHECKING:
    from mapper.arch import Accelerator, load_arch
    from mapper.cost import Evaluation, evaluate
    from mapper.mapping import LoopNest, Partitioning, format_nest, parse_nest, parse_partitioning
    from mapper.report.network_view import interconnect_graph as interconnect
    from mapper.search.constraint_file import load_constraints
    from mapper.search.constraint_text import parse_constraints
    from mapper.search.constraints import Constraints
    from mapper.search.run import search
    from mapper.sparsity.masks import Masks, load_masks
    from mapper.sparsity.model import Density
    from mapper.workload import Einsum, Network, Phase, load_layer, load_network

__version__ = "0.1.0"

_HOMES = {
    # what is computed
    "Einsum": "mapper.workload",
    "Network": "mapper.workload",
    "Phase": "mapper.workload",
    "load_layer": "mapper.workload",
    "load_network": "mapper.workload",
    # what it runs on
    "Accelerator": "mapper.arch",
    "load_arch": "mapper.arch",
    # how the work is laid out
    "LoopNest": "mapper.mapping",
    "Partitioning": "mapper.mapping",
    "format_nest": "mapper.mapping",
    "parse_nest": "mapper.mapping",
    "parse_partitioning": "mapper.mapping",
    # where its zeros are
    "Density": "mapper.sparsity.model",
    "Masks": "mapper.sparsity.masks",
    "load_masks": "mapper.sparsity.masks",
    # what is asked of it
    "Constraints": "mapper.search.constraints",
    "load_constraints": "mapper.search.constraint_file",
    "parse_constraints": "mapper.search.constraint_text",
    # what it costs, and which mapping is best
    "Evaluation": "mapper.cost",
    "evaluate": "mapper.cost",
    "search": "mapper.search",
    # who talks to whom
    "interconnect": "mapper.interconnect",
}

__all__ = [
    "Accelerator",
    "Constraints",
    "Density",
    "Einsum",
    "Evaluation",
    "InfeasibleError",
    "InputError",
    "LoopNest",
    "MapperError",
    "MappingError",
    "Masks",
    "Network",
    "Partitioning",
    "Phase",
    "evaluate",
    "format_nest",
    "interconnect",
    "load_arch",
    "load_constraints",
    "load_layer",
    "load_masks",
    "load_network",
    "parse_constraints",
    "parse_nest",
    "parse_partitioning",
    "search",
]

__getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
