"""Accelerators as a manifest records them: limits and energy of every component, and where each number is from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from mapper.report.page import shown
from mapper.report.page.document import Section
from mapper.report.page.heading import fact_list
from mapper.report.page.html import Html
from mapper.report.page.table import Column, Table, render

_T = TypeVar("_T")

_ACTIONS = ("read", "write", "drain")
_WHERE = Column("accelerators", "Where", note="which points have the component as it stands here")
_COLUMNS = (
    Column("component", "Component", code=True),
    Column("instances", "Instances", form=shown.count),
    Column("details", "Details", note="the tensors that it holds, or how it is charged"),
    _WHERE,
    Column("capacity_bits", "Capacity", "bits", shown.count, note="of one instance"),
    *(Column(action, action.capitalize(), "pJ/bit", shown.given) for action in _ACTIONS),
    Column("event_pj", "Event", "pJ", shown.given, note="one multiply-accumulate, or one event of a unit for zeros"),
    Column("area_um2", "Area", "µm²", shown.given, note="of all instances"),
    Column("source", "Source"),
)
_EMPTY = {column.name: "" for column in _COLUMNS}
NAMED, MOST = 4, 300
"""Accelerators that a row names, and rows of the table."""


def section(accelerators: Mapping[str, Mapping[str, Any]]) -> Section:
    """A table, and what the hardware does about zeros. What several accelerators have alike stands there once.

    `accelerators` are their limits by what tells them apart.
    """
    of = _merged(
        (tuple((_EMPTY | row).items()), name) for name, limits in accelerators.items() for row in _rows(limits)
    )
    rows = _together([dict(row) | {_WHERE.name: _names(names, len(accelerators))} for row, names in of.items()])
    heads = [column for column in _COLUMNS if any(row[column.name] for row in rows)]
    caption = f"{_title(accelerators)}. Empty: without a limit, without a charge, or not known."
    if len(rows) > MOST:
        caption += f" The first {MOST} of {len(rows):,}; manifest.json has all."
    table = Table("components", caption, heads, rows[:MOST], sortable=False)
    facts = _merged((tuple(_zeros(limits.get("zeros"))), name) for name, limits in accelerators.items())
    told = (_facts(found, _names(names, len(accelerators))) for found, names in facts.items() if found)
    return Section("energies", "Sources of energies", [render(table), told], _room(heads))


def _room(heads: Sequence[Column]) -> str:
    """Rules for the widths of texts where there is one more."""
    if _WHERE not in heads:
        return ""
    place = heads.index(_WHERE) + 1
    return f"#components td:nth-child({place}){{min-width:7rem}}\n#components td:last-child{{min-width:14rem}}\n"


def _together(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Rows of one component one below the other."""
    order = {name: place for place, name in enumerate(dict.fromkeys(row["component"] for row in rows))}
    return sorted(rows, key=lambda row: order[row["component"]])


def _merged(rows: Iterable[tuple[_T, str]]) -> dict[_T, list[str]]:
    """Which accelerators have each of several rows."""
    found: dict[_T, list[str]] = {}
    for row, name in rows:
        found.setdefault(row, []).append(name)
    return found


def _names(names: Sequence[str], every: int) -> str:
    """`8x8, 8x16`; nothing for one of one, `all` for all of several."""
    if len(names) == every:
        return "all" if every > 1 else ""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _title(accelerators: Mapping[str, Mapping[str, Any]]) -> str:
    """`Components of procrustes, 40 nm`."""
    names = dict.fromkeys(
        f"{limits['name']}" + (f", {limits['technology_nm']} nm" if limits.get("technology_nm") else "")
        for limits in accelerators.values()
    )
    return f"Components of {'; '.join(names)}"


def _facts(found: Iterable[tuple[str, str]], names: str) -> Html:
    return fact_list([("Where", names), *found])


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


def _zeros(zeros: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if not zeros:
        return
    yield "Skips zeros of", " ".join(zeros.get("skip") or ()) or "nothing"
    yield "Gates zeros of", " ".join(zeros.get("gate") or ()) or "nothing"
    yield "Balances", _text(zeros.get("balance"))
    yield "Formats", ", ".join(f"{place} {form}" for place, form in (zeros.get("formats") or {}).items())


def _text(value: object) -> str:
    return "" if value is None else str(value)
