"""Figures inside a page: SVG without what belongs to a file of its own, and with names that no other figure has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from xml.etree import ElementTree

from mapper.report.page.html import Child, Html, tag

_DROPPED = frozenset(("metadata", "style", "title"))
"""Elements that a page does not need: a date and licence, rules that would hold for the whole page, a tooltip."""
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_POINT = 96 / 72
"""CSS pixels of a point, the unit that drawings are given in."""


WITHOUT = "Figures need matplotlib: pip install 'mapper[plot]', then make the report again."


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def drawings(found: Mapping[str, bytes], texts: Mapping[str, str], prefix: str = "") -> Child:
    """All figures, each over its text; or how to get them."""
    if not can_draw():
        return tag("p", WITHOUT, class_="note")
    every = (_titled(f"{prefix}{name}", data, title(name), texts.get(name, "")) for name, data in found.items())
    return tag("div", every, class_="figures") if found else None


def title(name: str) -> str:
    """`Energy`."""
    return name.replace("_", " ").capitalize()


def _titled(name: str, data: bytes, head: str, text: str) -> Html:
    return figure(name, data, text or f"{head}.", f"{head}. {text}".rstrip())


def figure(name: str, drawing: bytes, caption: Child, alt: str) -> Html:
    """A drawing with its caption; `alt` is what a reader who does not see it hears."""
    return tag("figure", inline(drawing, name, alt), tag("figcaption", caption), id=f"figure-{name}")


def inline(drawing: bytes, name: str, alt: str) -> Html:
    """An SVG file as an element of a page: its ids begin with `name`, nothing in it points outside."""
    root = ElementTree.fromstring(drawing)
    for element in root.iter():
        for child in [child for child in element if _local(child.tag) in _DROPPED]:
            element.remove(child)
        element.tag = _local(element.tag)
        element.attrib = {_local(key): _renamed(_local(key), value, name) for key, value in element.attrib.items()}
    width = root.attrib.pop("width", "")
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "aria-label": alt}
    if width.endswith("pt"):
        root.attrib["style"] = f"max-width:{float(width.removesuffix('pt')) * _POINT:.0f}px"
    # The parser of HTML knows the namespace by the element's name.
    return Html(ElementTree.tostring(root, encoding="unicode"))


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _renamed(key: str, value: str, prefix: str) -> str:
    """An attribute with every id in it, or reference to one, under `prefix`."""
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
