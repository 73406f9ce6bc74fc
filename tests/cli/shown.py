"""A small accelerator and einsum whose whole output the tests of this folder compare, and how they run commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from mapper.cli.main import cli
from tests.arch.specs import RIGHT

Mapper = Callable[..., Result]

GEMM = "Z[M,N] += A[M,K] * B[K,N]; M=4 N=4 K=4"
MAPPING = "DRAM: K2 M2 | GLB: N2 | X: M2 | Y: N2 | RF: K2"
ARCH = "right.yaml"
GOLDEN = Path(__file__).parent / "golden"


def mapper(*arguments: str) -> Result:
    """Run `mapper` as a user does."""
    return CliRunner().invoke(cli, list(arguments), prog_name="mapper")


def write_arch() -> None:
    """The accelerator of `ARCH`, in the working directory."""
    Path(ARCH).write_text(RIGHT, encoding="utf-8")


def golden(name: str) -> str:
    """A whole output as it was read and found right."""
    return (GOLDEN / name).read_text(encoding="utf-8")
