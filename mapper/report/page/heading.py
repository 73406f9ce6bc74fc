"""The head of a run's page: its title, what was searched, and the command that did."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from mapper.report.page import shown
from mapper.report.page.columns import PHASES
from mapper.report.page.html import Html, tag
from mapper.report.page.source import Source


def title(source: Source) -> str:
    """`resnet18 on procrustes`."""
    return f"{source.manifest['network']} on {accelerator(source)}"


def accelerator(source: Source) -> str:
    return source.mappings[0]["arch"]


def heading(source: Source) -> Html:
    """Title, a list of facts, the command line."""
    on = tag("span", " on ", class_="on")
    terms = ([tag("dt", name), tag("dd", text)] for name, text in _facts(source) if text)
    command = shlex.join(map(str, source.manifest.get("command") or []))
    return Html(
        tag("h1", source.manifest["network"], on, accelerator(source))
        + tag("dl", terms, class_="facts")
        + tag("pre", tag("code", tag("span", "$ ", class_="prompt"), command), class_="command", tabindex=0)
    )


def phases(source: Source) -> tuple[str, ...]:
    """Phases that have a mapping, in the order of training."""
    found = {row["phase"] for row in source.mappings}
    return tuple(phase for phase in PHASES if phase in found)


def _facts(source: Source) -> Iterator[tuple[str, str]]:
    manifest = source.manifest
    layers = len({row["layer"] for row in source.mappings})
    yield "Network", f"{shown.counted(layers, 'layer')}, batch {manifest['batch']}"
    yield "Accelerator", _hardware(source.results.limits)
    yield "Phases", ", ".join(f"{phase} ({PHASES[phase]})" for phase in phases(source))
    yield "Zeros", _options(manifest.get("zeros") or {}) or "every tensor is taken as dense"
    yield "Constraints", "; ".join(map(str, manifest.get("constraints") or []))
    top = manifest.get("top")
    ranked = f"by {source.results.metric}"
    yield "Ranked", f"{ranked}, the best {top} of each ranking" if isinstance(top, int) else ranked


def _options(zeros: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in zeros.items())


def _hardware(limits: Mapping[str, Any]) -> str:
    """`256 compute units below DRAM, GLB 128 KiB, RF 1 KiB each; 40 nm`."""
    compute = limits.get("compute") or {}
    units = shown.counted(compute["units"], "compute unit") if "units" in compute else ""
    levels = ", ".join(_level(level) for level in limits.get("levels") or ())
    technology = f"; {limits['technology_nm']} nm" if limits.get("technology_nm") else ""
    return f"{units} below {levels}{technology}" if units and levels else ""


def _level(level: Mapping[str, Any]) -> str:
    capacities = [buffer["capacity_bits"] for buffer in level["buffers"]]
    if None in capacities:
        return str(level["name"])
    each = " each" if level["instances"] > 1 else ""
    return f"{level['name']} {shown.capacity(sum(capacities))}{each}"
