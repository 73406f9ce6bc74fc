"""Text on a terminal: columns that line up, bars, numbers with thousands marked, lines that stay on the page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 110
"""Columns of a page."""
BAR = 20
"""Characters of a full bar."""
GAP = "  "
_LARGE, _WHOLE = 1e5, 1e15
"""Between these a float is shown whole; beyond, its last digits would mean nothing."""
_NUMBER = re.compile(r"(x )?[-+]?[\d.,]+(e[-+]\d+)?( %)?|-|")

Cell = str | int | float | None


def bar(share: float, width: int = BAR) -> str:
    """`share` of a whole as a bar; anything above nothing shows, and what exceeds the whole ends in `>`."""
    if share > 1:
        return "#" * (width - 1) + ">"
    return "#" * max(round(share * width), 1 if share > 0 else 0)


def number(value: float) -> str:
    """Thousands marked; integers and what is large whole, the rest with six digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if _LARGE <= abs(value) < _WHOLE else f"{value:,.6g}"


def portion(share: float) -> str:
    """`12.3 %`; below one percent two digits, however small: `0.0061 %`."""
    return f"{100 * share:.2g} %" if 0 < share < 0.01 else f"{100 * share:.1f} %"


def times(value: float) -> str:
    """How many times over: `x 4`, `x 1.27`."""
    return f"x {value:,.0f}" if value == round(value) else f"x {value:,.4g}"


def cell(value: Cell) -> str:
    """A value of a table; a dash where there is none."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else number(value)


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]], left: int = 1, indent: int = 2) -> list[str]:
    """Lines of a table under its header: the first `left` columns and those of words stand left, numbers right."""
    rows = [tuple(row) for row in rows]
    texts = [tuple(header), *(tuple(cell(value) for value in row) for row in rows)]
    widths = [max(len(line[column]) for line in texts) for column in range(len(header))]
    lefts = [c < left or not all(_NUMBER.fullmatch(t[c]) for t in texts[1:]) for c in range(len(header))]
    lines = []
    for line in texts:
        pieces = [
            text.ljust(width) if stands_left else text.rjust(width)
            for text, width, stands_left in zip(line, widths, lefts, strict=True)
        ]
        lines.append((" " * indent + GAP.join(pieces)).rstrip())
    return lines


def wrapped(text: str, indent: int = 2) -> list[str]:
    """`text` as a paragraph of the page."""
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=pad + GAP, break_on_hyphens=False)


def on_page(lines: Iterable[str]) -> str:
    """Lines as one text; a line that would leave the page goes on below, further in."""
    out: list[str] = []
    for line in lines:
        inside = len(line) - len(line.lstrip())
        out += wrapped(line.strip(), inside) if len(line) > WIDTH else [line]
    return "\n".join(out) + "\n"
