"""The accelerator as the manifest records it: limits and energy of every component, and where each number is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mapper.report.page import shown
from mapper.report.page.document import Section
from mapper.report.page.html import Html, tag
from mapper.report.page.table import Column, Table, render
from mapper.report.page.view import View

_ACTIONS = ("read", "write", "drain")
_COLUMNS = (
    Column("component", "Component", code=True),
    Column("instances", "Instances", form=shown.count),
    Column("details", "Details", note="the tensors that it holds, or how it is charged"),
    Column("capacity_bits", "Capacity", "bits", shown.count, note="of one instance"),
    *(Column(action, action.capitalize(), "pJ/bit", shown.given) for action in _ACTIONS),
    Column("event_pj", "Event", "pJ", shown.given, note="one multiply-accumulate, or one event of a unit for zeros"),
    Column("area_um2", "Area", "µm²", shown.given, note="of all instances"),
    Column("source", "Source"),
)
_EMPTY = {column.name: "" for column in _COLUMNS}


def section(view: View) -> Section:
    """A table, and what the hardware does about zeros."""
    limits = view.source.results.limits
    rows = [_EMPTY | row for row in _rows(limits)]
    technology = limits.get("technology_nm")
    title = f"Components of {limits.get('name', '')}" + (f", {technology} nm" if technology else "")
    caption = f"{title}. Empty: without a limit, without a charge, or not known."
    given = [column for column in _COLUMNS if any(row[column.name] for row in rows)]
    table = Table("components", caption, given, rows, sortable=False)
    return Section("energies", "Sources of energies", [render(table), *_zeros(limits.get("zeros"))])


def _rows(limits: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for level in limits.get("levels") or ():
        for buffer in level["buffers"]:
            yield _buffer(buffer, level["instances"])
        network = level["fanout"].get("network")
        if network is not None:
            yield _network(f"{level['name']} network", network)
    compute = limits.get("compute")
    if compute:
        yield _unit(compute["name"], compute, compute["units"])
    zeros = limits.get("zeros") or {}
    if zeros.get("overhead_energy"):
        share = f"{100 * zeros['overhead_energy']:.3g} % of the energy of the same dense work"
        yield {"component": "zeros", "details": share, "source": _text(zeros.get("overhead_source"))}
    for event in zeros.get("events") or ():
        yield _unit(event["name"], event, None)


def _buffer(buffer: Mapping[str, Any], instances: int) -> dict[str, str]:
    energies = buffer["energy_pj_per_bit"]
    return {
        "component": buffer["name"],
        "instances": _text(instances),
        "details": " ".join(buffer["tensors"]) + (", double-buffered" if buffer["double_buffered"] else ""),
        "capacity_bits": _text(buffer["capacity_bits"]),
        **{action: _text(energies.get(action)) for action in _ACTIONS},
        "area_um2": _text(buffer.get("area_um2")),
        "source": _text(buffer["source"]),
    }


def _network(name: str, network: Mapping[str, Any]) -> dict[str, str]:
    wire, switch = network["wire_pj_per_bit_mm"], network["switch_pj_per_bit"]
    charges = (
        f"{network['topology']}: wire {wire:g} pJ/bit/mm, tile {network['tile_mm']:g} mm, switch {switch:g} pJ/bit"
    )
    return {"component": name, "details": charges, "source": _text(network["source"])}


def _unit(name: str, unit: Mapping[str, Any], instances: int | None) -> dict[str, str]:
    return {
        "component": name,
        "instances": _text(instances),
        "event_pj": _text(unit["energy_pj"]),
        "area_um2": _text(unit.get("area_um2")),
        "source": _text(unit["source"]),
    }


def _zeros(zeros: Mapping[str, Any] | None) -> Iterator[Html]:
    if not zeros:
        return
    facts = {
        "Skips zeros of": " ".join(zeros.get("skip") or ()) or "nothing",
        "Gates zeros of": " ".join(zeros.get("gate") or ()) or "nothing",
        "Balances": _text(zeros.get("balance")),
        "Formats": ", ".join(f"{place} {form}" for place, form in (zeros.get("formats") or {}).items()),
    }
    yield tag("dl", ([tag("dt", name), tag("dd", text)] for name, text in facts.items() if text), class_="facts")


def _text(value: object) -> str:
    return "" if value is None else str(value)
