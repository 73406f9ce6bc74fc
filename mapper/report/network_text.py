"""The flows through a network as a page of text, at most 110 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mapper.report.layout import number, on_page, table, wrapped
from mapper.report.network_view import NetworkView, Travel

PATTERN = {
    "tensor": "",
    "direction": "direction",
    "pattern": "pattern",
    "x": "X",
    "y": "Y",
    "degree_mean": "on average",
    "degree_max": "at most",
}
AMOUNT = {
    "tensor": "",
    "direction": "direction",
    "words": "words",
    "pairs": "to or from children",
    "bits": "bits",
    "bit_hops": "bit-hops",
    "energy_pj": "energy (pJ)",
}
LINK = {"tensor": "", "direction": "direction", "link": "kind", "link_bits": "bits", "link_cycles": "cycles"}
"""Columns of the three tables, and their heads."""


def render(view: NetworkView, heading: str) -> str:
    """The whole page. Words are those of all instances of the network, links those of the first."""
    head = [heading, *wrapped(str(view.evaluation.mapping)), f"  {facts(view)}"]
    return on_page([*head, "", *_patterns(view), "", *_amounts(view), "", *_links(view)])


def facts(view: NetworkView) -> str:
    """`mesh of 16 x 16 children below GLB, 14 x 16 in use, links of 64 bits per cycle`."""
    columns, rows = view.shape
    many = f", {view.instances} of them" if view.instances > 1 else ""
    used = "" if view.used == view.shape else f", {view.used[0]} x {view.used[1]} in use"
    rate = view.network.link_bits_per_cycle
    limited = "" if rate is None else f", links of {number(float(rate))} bits per cycle"
    return f"{view.network.topology} of {columns} x {rows} children below {view.name}{many}{used}{limited}"


def moving(view: NetworkView) -> list[Travel]:
    """What travels at all: often no partial sum comes back. Where all words are zeros, metadata may still travel."""
    return [travel for travel in view.travels if travel.words or travel.bits]


def _patterns(view: NetworkView) -> Iterator[str]:
    yield "How words travel, and how many children share one"
    yield from _table(moving(view), PATTERN, left=5)
    flat = all(travel.pattern.one_dimensional for travel in view.travels)
    yield f"  each word to or from children of one row or of one column: {'yes' if flat else 'no'}"


def _amounts(view: NetworkView) -> Iterator[str]:
    yield "How much travels"
    yield from _table(moving(view), AMOUNT, hidden=() if view.priced else ("energy_pj",))


def _links(view: NetworkView) -> Iterator[str]:
    yield "What the busiest links carry"
    unlimited = view.network.link_bits_per_cycle is None
    yield from _table(moving(view), LINK, left=3, hidden=("link_cycles",) if unlimited else ())
    cycles = view.busiest_cycles
    time = "" if cycles is None else f", {cycles:,} cycles"
    whole = f"; the mapping takes {view.evaluation.cycles:,}" if time and view.given else ""
    yield f"  all tensors together: {view.busiest_bits:,} bits{time}{whole}"


def _table(
    travels: Iterable[Travel], columns: dict[str, str], left: int = 2, hidden: tuple[str, ...] = ()
) -> list[str]:
    shown = {name: head for name, head in columns.items() if name not in hidden}
    rows = [[travel.row()[name] for name in shown] for travel in travels]
    return table(list(shown.values()), rows, left=left)
