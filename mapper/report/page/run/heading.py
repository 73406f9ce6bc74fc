"""The head of a run's page: its title, what was searched, and the command that did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mapper.report.page import shown
from mapper.report.page.columns import PHASES
from mapper.report.page.heading import hardware, head, on
from mapper.report.page.html import Html
from mapper.report.page.run.source import Source


def title(source: Source) -> str:
    """`resnet18 on procrustes`."""
    return f"{source.manifest['network']} on {accelerator(source)}"


def accelerator(source: Source) -> str:
    return source.mappings[0]["arch"]


def heading(source: Source) -> Html:
    """Title, a list of facts, the command line."""
    return head(on(source.manifest["network"], accelerator(source)), _facts(source), source.manifest)


def phases(source: Source) -> tuple[str, ...]:
    """Phases that have a mapping, in the order of training."""
    found = {row["phase"] for row in source.mappings}
    return tuple(phase for phase in PHASES if phase in found)


def _facts(source: Source) -> Iterator[tuple[str, str]]:
    manifest = source.manifest
    layers = len({row["layer"] for row in source.mappings})
    yield "Network", f"{shown.counted(layers, 'layer')}, batch {manifest['batch']}"
    yield "Accelerator", hardware(source.results.limits)
    yield "Phases", ", ".join(f"{phase} ({PHASES[phase]})" for phase in phases(source))
    yield "Zeros", _options(manifest.get("zeros") or {}) or "every tensor is taken as dense"
    yield "Constraints", "; ".join(map(str, manifest.get("constraints") or []))
    top = manifest.get("top")
    ranked = f"by {source.results.metric}"
    yield "Ranked", f"{ranked}, the best {top} of each ranking" if isinstance(top, int) else ranked


def _options(zeros: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in zeros.items())
