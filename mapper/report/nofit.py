"""Why nothing fits, for people: what excludes how many tilings, the nearest miss, the smallest change of the spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mapper.cost.single import Occupancy
from mapper.errors import InfeasibleError, MapperError
from mapper.report.layout import Cell, on_page, portion, table, wrapped
from mapper.runs import Run, Task
from mapper.search.nofit import NoFit, Resize, Try, excess

MOST = 20
"""Rankings without a mapping that are named one by one."""
NAMED = 3
"""Rankings of a group that are named."""
SHOWN = 3
"""Groups of rankings whose first is explained."""

Failed = tuple[Task, NoFit]


def failures_text(run: Run, file: str | None = None, brief: bool = False) -> str:
    """What a run has no mapping for, and why; empty where it has one for everything.

    Rankings that the same change would help stand together, and the first of them is explained. `file` is the
    accelerator's, where it is known; `brief` leaves the explanations out.
    """
    groups: dict[tuple[Resize, ...], list[Failed]] = {}
    others: list[tuple[Task, MapperError]] = []
    for task, error in run.failures:
        if isinstance(error, InfeasibleError) and error.diagnosis is not None and error.diagnosis.change:
            groups.setdefault(error.diagnosis.change, []).append((task, error.diagnosis))
        else:
            others.append((task, error))
    lines = [f"error: {task}: {error}" for task, error in others[:MOST]]
    if len(others) > MOST:
        lines.append(f"error: and {len(others) - MOST:,} more rankings without a mapping (see manifest.json)")
    for index, group in enumerate(groups.values()):
        lines.append(_headline(group))
        if index < SHOWN and not brief:
            lines.append(_explained(group, file))
    if len(groups) > 1:
        lines.append(f"every one of these has a mapping with {_listed(_together(list(groups)))}")
    return "\n".join(lines)


def _headline(group: list[Failed]) -> str:
    """One line for rankings that the same change would help."""
    task, found = group[0]
    if len(group) == 1:
        return f"error: {task}: {found}"
    named = ", ".join(str(task) for task, _ in group[:NAMED])
    more = f" and {len(group) - NAMED:,} more" if len(group) > NAMED else ""
    return f"error: {len(group):,} rankings, {named}{more}: {found}"


def _explained(group: list[Failed], file: str | None) -> str:
    task, found = group[0]
    return f"\n{f'{task}, the first of these: ' if len(group) > 1 else ''}{diagnosis_text(found, file)}"


def _together(changes: Sequence[tuple[Resize, ...]]) -> list[Resize]:
    """A change that does for all what each of `changes` does for one: a larger buffer holds no less."""
    largest: dict[str, Resize] = {}
    for resize in (resize for change in changes for resize in change):
        known = largest.setdefault(resize.buffer, resize)
        largest[resize.buffer] = max(known, resize, key=lambda each: each.after)
    return list(largest.values())


def _listed(change: Sequence[Resize]) -> str:
    return ", ".join(map(str, change))


def diagnosis_text(found: NoFit, file: str | None = None) -> str:
    """Everything about a mapspace of which nothing fits; `file` is the accelerator's, where it is known."""
    if found.nearest is None:
        return on_page([str(found)])
    lines = [*_reasons(found), *_nearest(found.nearest), *_change(found, file)]
    if found.min_utilization is not None:
        lines.append(f"min_utilization {found.min_utilization} is not looked at here")
    return on_page(lines)


def _reasons(found: NoFit) -> Iterator[str]:
    yield f"{found.tilings:,} tilings, and the limits that they exceed"
    yield "  (a tiling: a chain of factors for each dimension and a choice of kept tensors; loop orders do not matter)"
    rows = [
        (r.where, r.limit, "exactly" if r.exact else "at least", r.tilings, portion(r.tilings / found.tilings))
        for r in found.reasons
    ]
    if not rows:
        yield "  none exceeds any"
        return
    yield from table(("", "limit", "", "tilings beyond it", "share"), rows, left=3)
    if len(rows) > 1:
        yield "  a tiling may exceed several"


def _nearest(nearest: Try) -> Iterator[str]:
    if nearest.excess > 0:
        yield f"Nearest miss: the least excess, as shares of the capacities added up, {portion(nearest.excess)}"
    else:
        yield "Fits the buffers"
    yield from wrapped(str(nearest.mapping))
    rows = [_row(occupancy) for occupancy in nearest.occupancy if occupancy.capacity_bits is not None]
    yield from table(("", "bits needed", "capacity", "excess", "bits by tensor"), rows)


def _row(occupancy: Occupancy) -> tuple[Cell, ...]:
    beyond = None if occupancy.fits else portion(excess(occupancy))
    tensors = ", ".join(f"{tensor} {bits:,}" for tensor, bits in occupancy.tensors.items())
    return occupancy.buffer, occupancy.bits, occupancy.capacity_bits, beyond, tensors


def _change(found: NoFit, file: str | None) -> Iterator[str]:
    """The change in the words of the accelerator's file, and what it makes fit."""
    if not found.change or found.changed is None:
        return
    yield f"Smallest change of {file or found.accelerator} that lets one fit: the fewest buffers, then the fewest bits"
    for resize in found.change:
        yield f"  {resize}"
    if found.changed != found.nearest:
        yield from wrapped(f"for {found.changed.mapping}")
