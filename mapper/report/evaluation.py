"""Every number of one evaluation, as tidy figures and as text.

A figure is (component, tensor, figure, value), its unit in its name: `GLB, W, fills_words, 294912`. CSV has one row
per figure; JSON nests them; the text groups them into tables.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import NamedTuple

from mapper.cost import Evaluation
from mapper.cost.energy import area_um2
from mapper.cost.single import Item, Occupancy
from mapper.report.layout import Cell, number, on_page, portion, table, wrapped

ACTIONS = ("reads", "fills", "updates", "drains")


class Figure(NamedTuple):
    """One number; `component` and `tensor` are empty where it belongs to the whole mapping."""

    component: str
    tensor: str
    figure: str
    value: int | float | str


def figures(found: Evaluation) -> Iterator[Figure]:
    """Everything the model says, in a fixed order."""
    yield from (Figure("", "", name, value) for name, value in summary(found).items())
    for name, cycles in found.bounds.items():
        yield Figure(name, "", "bound_cycles", cycles)
    for item in found.items:
        yield from _item(item)
    for edge in found.edges:
        yield Figure(edge.level, edge.tensor, "delivered_words", edge.delivered)
        yield Figure(edge.level, edge.tensor, "multicast_mean", edge.multicast)
        yield Figure(edge.level, edge.tensor, "multicast_max", edge.multicast_max)
    for (level, tensor), value in found.reuse.items():
        yield Figure(level, tensor, "reuse", value)
    for (level, tensor), count in found.reductions.items():
        yield Figure(level, tensor, "spatial_reductions", count)
    for (level, tensor), words in found.tiles.items():
        yield Figure(level, tensor, "tile_words", words)
    for occupancy in found.occupancy:
        yield from (Figure(occupancy.buffer, tensor, "held_bits", bits) for tensor, bits in occupancy.tensors.items())
        if occupancy.capacity_bits is not None:
            yield Figure(occupancy.buffer, "", "capacity_bits", occupancy.capacity_bits)
    for tensor, words in padding(found).items():
        yield Figure(found.accelerator.level_names[0], tensor, "padding_words", words)
        yield Figure(found.accelerator.level_names[0], tensor, "padding_reads_words", found.padding.get(tensor, 0))
    for component, area in area_um2(found.accelerator).items():
        if area is not None:
            yield Figure(component, "", "area_um2", area)


def summary(found: Evaluation) -> dict[str, int | float | str]:
    """The figures of the whole mapping."""
    return {
        "arch": found.accelerator.name,
        "einsum": found.einsum.text,
        "mapping": str(found.mapping),
        "macs": found.macs,
        "effectual_macs": found.effectual_macs,
        "points": found.points,
        "cycles": found.cycles,
        "fill_drain_cycles": found.fill_drain_cycles,
        "bound_by": found.bound_by,
        "utilization": found.utilization,
        "imbalance_mean": found.imbalance.mean if found.imbalance else 1.0,
        "imbalance_max": found.imbalance.maximum if found.imbalance else 1.0,
        "energy_pj": found.energy_pj,
        "edp_pj_cycles": found.edp_pj_cycles,
        "temporal_reductions": found.temporal_reductions,
        "fits": int(found.fits),
    }


def padding(found: Evaluation) -> dict[str, int]:
    """Words of each tensor's padded extent that no memory stores, where there are any."""
    return {t.name: t.padding_words for t in found.einsum.tensors if t.padding_words}


def _item(item: Item) -> Iterator[Figure]:
    unit = f"{item.action}_words" if item.tensor else item.action
    if item.action != "leakage":
        yield Figure(item.component, item.tensor, unit, item.count)
    if item.tensor:
        yield Figure(item.component, item.tensor, f"{item.action}_bits", item.bits)
    yield Figure(item.component, item.tensor, f"{item.action}_energy_pj", item.energy_pj)


def as_csv(found: Evaluation) -> str:
    """One row per figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Figure._fields)
    writer.writerows(figures(found))
    return out.getvalue()


def as_json(found: Evaluation) -> str:
    """The summary's figures by name, the others under `components`, by component and tensor ("" is the whole)."""
    components: dict[str, dict[str, dict[str, int | float | str]]] = {}
    for figure in figures(found):
        if figure.component:
            components.setdefault(figure.component, {}).setdefault(figure.tensor, {})[figure.figure] = figure.value
    document = summary(found) | {"fits": found.fits, "components": components}
    return json.dumps(document, indent=2) + "\n"


def as_text(found: Evaluation, heading: str) -> str:
    """The tables for people."""
    lines = [heading, *wrapped(str(found.mapping)), ""]
    for section in (_summary, _words, _cycles, _energy, _occupancy, _area):
        rows = section(found)
        lines += [*rows, ""] if rows else []
    return on_page(lines[:-1])


def _summary(found: Evaluation) -> list[str]:
    rows: list[tuple[Cell, ...]] = [
        ("macs", found.macs, f"points {found.points:,}"),
        *_zeros(found),
        ("cycles", found.cycles, f"bound by {found.bound_by}; fill and drain {found.fill_drain_cycles:,} more"),
        ("utilization", portion(found.utilization), f"of {found.accelerator.pes:,} compute units"),
        ("energy_pj", number(found.energy_pj), ""),
        ("edp_pj_cycles", number(found.edp_pj_cycles), ""),
    ]
    width = max(len(number(v) if isinstance(v, int) else str(v)) for _, v, _ in rows)
    return [
        f"  {name:<15}{number(v) if isinstance(v, int) else v!s:>{width}}  {note}".rstrip() for name, v, note in rows
    ]


def _zeros(found: Evaluation) -> list[tuple[Cell, ...]]:
    """What zeros save; nothing where all is dense."""
    rows: list[tuple[Cell, ...]] = []
    if found.effectual_macs != found.macs:
        share = found.effectual_macs / found.macs
        rows.append(("effectual", round(found.effectual_macs), f"macs, {portion(share)}: the others are zero"))
    if found.imbalance is not None:
        most = f"at most {found.imbalance.maximum:.3f}; 1 is even"
        rows.append(("imbalance", f"{found.imbalance.mean:.3f}", f"busiest PE / mean PE of a working set; {most}"))
    return rows


def _words(found: Evaluation) -> list[str]:
    words = {(item.component, item.tensor, item.action): item.count for item in found.items}
    edges = {(edge.level, edge.tensor): edge for edge in found.edges}
    rows: list[tuple[Cell, ...]] = []
    for level in found.accelerator.levels:
        for tensor in found.einsum.tensors:
            key = (level.name, tensor.name)
            if key in found.tiles:
                counts = [words.get((level.buffer(tensor).name, tensor.name, action)) for action in ACTIONS]
                edge = edges[key]
                rows.append(
                    (*key, *counts, edge.multicast, edge.multicast_max, found.reuse.get(key), found.reductions.get(key))
                )
    header = ("level", "tensor", *ACTIONS, "multicast", "max", "reuse", "spatial sums")
    lines = ["Words", *table(header, rows, left=2), f"  temporal reductions {found.temporal_reductions:,}"]
    outermost = found.accelerator.level_names[0]
    for name, count in padding(found).items():
        total = found.tiles[outermost, name]
        spared = f"without it {outermost} reads {found.padding.get(name, 0):,} words fewer"
        lines.append(f"  {count:,} of the {total:,} words of {name} are padding, which is not stored: {spared}")
    return lines


def _cycles(found: Evaluation) -> list[str]:
    rows = [(name, cycles, "<-" if name == found.bound_by else "") for name, cycles in found.bounds.items()]
    return ["Cycles", *table(("bound", "cycles", ""), rows)]


def _energy(found: Evaluation) -> list[str]:
    rows = [
        (i.component, i.tensor, i.action, i.count, i.bits, i.energy_pj, portion(_of(i.energy_pj, found)))
        for i in found.items
    ]
    return ["Energy", *table(("component", "tensor", "action", "count", "bits", "energy_pj", "share"), rows, left=3)]


def _of(energy: float, found: Evaluation) -> float:
    return energy / found.energy_pj if found.energy_pj else 0.0


def _occupancy(found: Evaluation) -> list[str]:
    rows = [
        (
            o.buffer,
            o.bits,
            "unlimited" if o.capacity_bits is None else number(o.capacity_bits),
            _fullness(o),
            _shares(o),
        )
        for o in found.occupancy
    ]
    return ["Occupancy in bits", *table(("buffer", "held", "capacity", "full", "by tensor"), rows)]


def _fullness(occupancy: Occupancy) -> str:
    if occupancy.capacity_bits is None:
        return "-"
    return portion(occupancy.bits / occupancy.capacity_bits)


def _shares(occupancy: Occupancy) -> str:
    return ", ".join(f"{tensor} {bits:,}" for tensor, bits in occupancy.tensors.items())


def _area(found: Evaluation) -> list[str]:
    areas = area_um2(found.accelerator)
    known = [(name, area) for name, area in areas.items() if area is not None]
    if not known:
        return []
    unknown = [name for name, area in areas.items() if area is None]
    rest = [f"  unknown: {', '.join(unknown)}"] if unknown else []
    return ["Area", *table(("component", "area_um2"), known), *rest]


def misfits(found: Evaluation) -> str:
    """What does not fit, in bits of which tensors, and the capacity that would do; one line per buffer."""
    lines = []
    for level in found.accelerator.levels:
        for buffer in level.buffers:
            occupancy = next(o for o in found.occupancy if o.buffer == buffer.name)
            if not occupancy.fits:
                double = ", each twice for double buffering" if buffer.double_buffered else ""
                where = level.name if buffer.name == level.name else f"{level.name}, {buffer.name}"
                lines.append(
                    f"the tiles do not fit {where}: {occupancy.bits:,} bits ({_shares(occupancy)}{double}) in "
                    f"{occupancy.capacity_bits:,} (a capacity of {occupancy.bits:,} bits, {_kib(occupancy.bits)} KiB, "
                    "would fit)"
                )
    return "\n".join(lines)


def _kib(bits: int) -> str:
    """KiB that hold `bits`: rounded up to a hundredth."""
    hundredths = -(-bits * 100 // 8192)
    return f"{hundredths / 100:,.2f}".rstrip("0").rstrip(".")
