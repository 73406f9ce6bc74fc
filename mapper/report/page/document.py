"""The shell of a page: one file with its style and script inside, that asks nothing of any other place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from mapper.report.page.html import Child, Html, joined, tag

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What a browser may load for the page: nothing but what stands in it."""


@dataclass(frozen=True)
class Section:
    """A part of a page: `name` is its anchor, `title` its heading and its line in the table of contents.

    `style` are rules that it adds to those of every page.
    """

    name: str
    title: str
    body: Child
    style: str = ""


_FOOTER = "Figures stand rounded; point at one for its exact value, the one of the tables."


def document(title: str, header: Child, sections: Sequence[Section], manifest: Mapping[str, Any]) -> bytes:
    """The whole page, in UTF-8; `manifest` says which version made what it shows."""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", _file("report.css"), (Html(section.style) for section in sections)),
    ]
    contents = (tag("li", tag("a", section.title, href=f"#{section.name}")) for section in sections)
    body = [
        tag("nav", tag("ul", contents), aria_label="Contents"),
        tag("header", header, id="top"),
        tag("main", (_section(section) for section in sections)),
        tag("footer", f"{_FOOTER} Made by mapper {manifest.get('version', '')}."),
        tag("script", _file("report.js")),
    ]
    page = tag("html", "\n", tag("head", head), "\n", tag("body", joined(body)), "\n", lang="en")
    return f"<!DOCTYPE html>\n{page}\n".encode()


def _section(section: Section) -> Html:
    heading = tag("h2", tag("a", section.title, href=f"#{section.name}"), id=f"{section.name}-title")
    return tag("section", heading, section.body, id=section.name, aria_labelledby=f"{section.name}-title")


def _file(name: str) -> Html:
    """A file of this package as it is."""
    return Html("\n" + resources.files("mapper.report.page").joinpath(name).read_text(encoding="utf-8"))
