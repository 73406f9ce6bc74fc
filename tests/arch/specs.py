"""A small spec that is right, and how to bend it."""

from __future__ import annotations

from collections.abc import Callable

from mapper.arch import Accelerator

RIGHT = """\
name: right
clock_ghz: 1.0
bits: {default: 16, partial_sum: 32}
levels:
  - name: DRAM
    capacity: unlimited
    energy_pj_per_word: {read: 200, write: 200, source: s}
  - name: GLB
    capacity_kib: 64
    bandwidth_words_per_cycle: {read: 16, write: 8}
    energy_pj_per_word: {read: 6, write: 7, drain: 0, source: s}
    fanout: {x: 14, y: 12}
  - name: RF
    capacity_words: 256
    energy_pj_per_word: {read: 1, write: 1, source: s}
compute: {energy_pj: 1, source: s}
"""

Load = Callable[[str], Accelerator]


def bent(*edits: tuple[str, str]) -> str:
    """`RIGHT` with each first text replaced by the second; every edit must find its text."""
    text = RIGHT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
