"""The accelerators of a sweep by what tells them apart, for their energies and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mapper.report.page import energies
from mapper.report.page.document import Section
from mapper.report.page.sweep.source import Source
from mapper.report.page.sweep.view import View


def section(view: View) -> Section:
    """Every component of every accelerator; equal ones once."""
    return energies.section(accelerators(view.source))


def accelerators(source: Source) -> dict[str, Mapping[str, Any]]:
    """Limits by `array 8x8 buffer small`: the manifest has them by the first point that has the accelerator."""
    points = {" ".join(f"{axis}={value}" for axis, value in one.items()): one for one in source.manifest["points"]}
    limits = source.manifest["limits"]
    first = [points.get(name, {}) for name in limits]
    apart = [axis for axis in source.axes if len({str(one.get(axis)) for one in first}) > 1]
    names = (" ".join(f"{axis} {one[axis]}" for axis in apart if axis in one) for one in first)
    return {told or name: of for told, (name, of) in zip(names, limits.items(), strict=True)}
