"""Networks and accelerators so small that a search enumerates everything in a few milliseconds."""

from __future__ import annotations

from pathlib import Path

from mapper.arch import load_arch
from mapper.mapping import parse_partitionings
from mapper.runs import Plan
from mapper.workload import Phase, load_network

USUAL = ("net.yaml", "--arch", "toy.yaml", "--batch", "2", "--phase", "fw", "--partition", "KN,CN", "--top", "2")
"""Arguments of a small search; options given after it count."""

ARCH = """\
name: toy
bits: {default: 16}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {read: 100, write: 100, source: by hand}
    fanout: {x: 2, y: 2}
  - name: RF
    capacity_words: 8
    energy_pj_per_word: {read: 1, write: 1, source: by hand}
compute: {energy_pj: 1, source: by hand}
"""

NETWORK = """\
name: net
layers:
  - {name: first, linear: {C: 4, K: 2}, input_gradient: false}
  - {name: twin, linear: {C: 4, K: 2}, repeat: 3}
  - {name: last, linear: {C: 2, K: 2}}
"""

PICKY = """\
name: picky
bits: {W: 32, I: 8, O: 8, partial_sum: 8}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {read: 100, write: 100, source: by hand}
    word_bits: 8
  - name: RF
    capacity_bits: 30
    energy_pj_per_word: {read: 1, write: 1, source: by hand}
    word_bits: 8
compute: {energy_pj: 1, source: by hand}
"""
"""Its RF holds a word each of three activations, but not one of 32-bit weights: a matmul fits, a linear layer not."""

MIXED = """\
name: mixed
layers:
  - {name: fits, matmul: {M: 2, N: 2, K: 2}}
  - {name: does_not, linear: {C: 2, K: 2}}
"""


def write(folder: Path) -> None:
    """All of them as `toy.yaml`, `net.yaml`, `picky.yaml` and `mixed.yaml`."""
    for name, text in {"toy": ARCH, "net": NETWORK, "picky": PICKY, "mixed": MIXED}.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def plan(
    folder: Path,
    network: str = "net",
    arch: str = "toy",
    phases: tuple[Phase, ...] = (Phase.fw,),
    partitionings: str = "KN,CN",
    top: int = 2,
) -> Plan:
    """A plan of files that `write` has written."""
    found = load_network(folder / f"{network}.yaml", batch=2)
    choices = parse_partitionings(partitionings, "NGKCPQRS")
    return Plan(found, load_arch(folder / f"{arch}.yaml"), choices, phases, top=top)
