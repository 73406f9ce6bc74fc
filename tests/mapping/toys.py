"""A small accelerator and einsum that the tests of this folder share."""

from mapper.arch import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.workload import Einsum

ALL = frozenset("WIO")
CONV = Einsum.parse("O[N,K,P] += W[K,C,R] * I[N,C,P+R]; N=4 K=128 C=8 P=7 R=3")
GEMM = Einsum.parse("Z[M,N] += A[M,K] * B[K,N]; M=64 N=64 K=64")


def level(name: str, keep: str = "WIO", may_keep: str = "", x: Axis | None = None, y: Axis | None = None) -> Level:
    """A storage level with one shared buffer and a fan-out of the given axes."""
    buffer = Buffer(name, ALL, Energies(1.0, 1.0, 1.0, "test"))
    return Level(name, (buffer,), frozenset(keep), frozenset(may_keep), Fanout(x or Axis(), y or Axis()))


def accelerator(*levels: Level) -> Accelerator:
    """An accelerator of these levels, 16 bits everywhere."""
    bits = tuple((role, 16) for role in ("W", "I", "O", "partial_sum"))
    return Accelerator("toy", levels, Compute(1.0, "test"), bits)


TOY = accelerator(
    level("DRAM"),
    level("GLB", keep="I", may_keep="W", x=Axis(16), y=Axis(16)),
    level("RF", keep="WO"),
)
