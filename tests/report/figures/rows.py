"""Results by hand, so small that every number of a figure can be worked out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mapper.report.results import Results
from mapper.search.rows import Row

PES = 4

Choice = tuple[str, str, str, str, int, float, float, dict[str, float]]
"""(layer, phase, part, partitioning, cycles, effectual macs, DRAM bits, picojoules by component)."""


def limits(**ports: float) -> dict[str, Any]:
    """Of an accelerator whose outermost level has those bandwidths."""
    memory = {"name": "DRAM", "bandwidth_bits_per_cycle": ports}
    return {"levels": [{"name": "DRAM", "instances": 1, "buffers": [memory]}], "compute": {"units": PES}}


def results(
    choices: Sequence[Choice],
    repeat: dict[str, int] | None = None,
    totals: Sequence[Row] = (),
    name: str = "run",
    **ports: float,
) -> Results:
    """The first mappings of a run, each with a second one that is worse; reads are a quarter of the bits."""
    mappings: list[Row] = []
    breakdown: list[Row] = []
    for layer, phase, part, partitioning, cycles, macs, bits, energies in choices:
        place: Row = {"arch": "toy", "network": "net", "layer": layer, "repeat": (repeat or {}).get(layer, 1)}
        place |= {"phase": phase, "part": part, "partitioning": partitioning}
        for rank in (1, 2):
            energy = rank * sum(energies.values())
            row: Row = {"rank": rank, "cycles": cycles, "effectual_macs": macs, "energy_pj": energy}
            row |= {"edp_pj_cycles": energy * cycles, "energy_role_W_pj": energy}
            mappings.append(place | row | {f"energy_{name}_pj": rank * value for name, value in energies.items()})
            for component, action, share in (
                *(("DRAM", "reads", 0.25), ("DRAM", "updates", 0.75), ("RF", "reads", 9.0)),
                ("DRAM", "drains", 7.0),
            ):
                charge: Row = {"rank": rank, "component": component, "action": action, "bits": rank * share * bits}
                breakdown.append(place | charge)
    return Results(name, tuple(mappings), tuple(breakdown), tuple(totals), limits(**ports), "edp")


def one(layer: str, phase: str = "fw", partitioning: str = "KN", **given: Any) -> Choice:
    """A layer of one part: 10 cycles, 20 macs, 80 bits, 3 pJ of DRAM and 1 of RF unless told."""
    energies = given.get("energies", {"DRAM": 3.0, "RF": 1.0})
    part, cycles = given.get("part", "1/1"), given.get("cycles", 10)
    return layer, phase, part, partitioning, cycles, given.get("macs", 20.0), given.get("bits", 80.0), energies


def total(phase: str, partitioning: str, cycles: int, energy_pj: float, missing: int = 0) -> Row:
    row: Row = {"phase": phase, "partitioning": partitioning, "cycles": cycles, "energy_pj": energy_pj}
    return row | {"layers_without_mapping": missing}


def texts(svg: bytes | None) -> list[str]:
    """What is written in a figure."""
    assert svg is not None
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())
