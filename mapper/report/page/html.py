"""HTML out of small pieces: an element helper that escapes everything that is not HTML already."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

VOID = frozenset(("br", "hr", "input", "link", "meta"))
"""Elements without an end tag."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that no HTML document may have."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
"""What may stand in an element: text, which is escaped; `Html`, which is not; nothing; or several of these."""

Attribute = str | int | bool | None


def escaped(text: str) -> str:
    """`text` as HTML shows it; what no document may hold becomes the replacement character."""
    return html.escape(_FORBIDDEN.sub("\ufffd", text))


def joined(children: Iterable[Child]) -> Html:
    """Children one after the other."""
    return Html("".join(_text(child) for child in children))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. Underscores of an attribute's name become hyphens, one at its end goes; None and False leave it out.

    >>> tag("td", "a < b", class_="text", data_value=3)
    '<td class="text" data-value="3">a &lt; b</td>'
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in VOID else f"{start}{joined(children)}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    return escaped(child) if isinstance(child, str) else joined(child)
