"""Text in columns, never wider than a terminal that people work in."""

from __future__ import annotations

from collections.abc import Sequence

from mapper.report.layout import GAP

WIDTH = 120
"""Characters of a line."""
NARROWEST = 12
"""The first column is not clipped below this."""


def grid(rows: Sequence[Sequence[str]], left: int = 1, width: int = WIDTH) -> list[str]:
    """Lines of `rows` in columns: the first `left` flush left, the others flush right.

    Where a line would be wider than `width` the first column is clipped.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    if excess > 0:
        widths[0] = max(NARROWEST, widths[0] - excess)
    lines = []
    for row in rows:
        cells = [clip(row[0], widths[0]), *row[1:]]
        padded = [
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append(GAP.join(padded).rstrip())
    return lines


def clip(text: str, width: int) -> str:
    """`text`, its end cut off where it is longer than `width`."""
    return text if len(text) <= width else f"{text[: width - 2]}.."
