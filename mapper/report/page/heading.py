"""The head of a page: its title, a list of facts, and the command that made what it shows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from mapper.report.page import shown
from mapper.report.page.html import Child, Html, joined, tag


def head(title: Child, facts: Iterable[tuple[str, str]], manifest: Mapping[str, Any]) -> Html:
    """Facts without a text are left out."""
    command = shlex.join(map(str, manifest.get("command") or []))
    return joined(
        [
            tag("h1", title),
            fact_list(facts),
            tag("pre", tag("code", tag("span", "$ ", class_="prompt"), command), class_="command", tabindex=0),
        ]
    )


def on(what: str, where: str) -> Child:
    """`resnet18 on procrustes`, the word between them soft."""
    return [what, tag("span", " on ", class_="on"), where]


def fact_list(facts: Iterable[tuple[str, str]]) -> Html:
    """Names and texts; those without a text are left out."""
    return tag("dl", ([tag("dt", name), tag("dd", text)] for name, text in facts if text), class_="facts")


def hardware(limits: Mapping[str, Any]) -> str:
    """`256 compute units below DRAM, GLB 128 KiB, RF 1 KiB each; 40 nm`."""
    units = shown.counted(limits["compute"]["units"], "compute unit")
    levels = ", ".join(_level(level) for level in limits["levels"])
    technology = f"; {limits['technology_nm']} nm" if limits.get("technology_nm") else ""
    return f"{units} below {levels}{technology}"


def _level(level: Mapping[str, Any]) -> str:
    capacities = [buffer["capacity_bits"] for buffer in level["buffers"]]
    if None in capacities:
        return str(level["name"])
    each = " each" if level["instances"] > 1 else ""
    return f"{level['name']} {shown.capacity(sum(capacities))}{each}"
