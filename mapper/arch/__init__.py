"""What it runs on: accelerators and their specs."""

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level, Unit
from mapper.arch.load import load_arch
from mapper.arch.template import arch_template

__all__ = [
    "Accelerator",
    "Axis",
    "Buffer",
    "Compute",
    "Energies",
    "Fanout",
    "Level",
    "Unit",
    "arch_template",
    "load_arch",
]
