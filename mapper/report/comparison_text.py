"""A comparison as tables for files, as text for a terminal, and what a reader must know before the ratios mean much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mapper.report import units
from mapper.report.comparison import MEASURES, Comparison, LayerLine, LeftOut, Ratios, TotalLine
from mapper.report.formats import Table
from mapper.report.grid import clip, grid
from mapper.report.layout import wrapped
from mapper.report.sides import Cost, Side
from mapper.report.totals import ALL
from mapper.search.rows import Row

EDP = "edp_pj_cycles"
NAME, SHORT = 24, 11
"""Characters of a side's name, and of a partitioning's."""

_HEADS = {
    "cycles": ("cycles", "speedup"),
    "energy_pj": ("energy", "saving"),
    "edp_pj_cycles": ("edp (pJ x cyc.)", "gain"),
    "utilization": ("util.", "gain"),
}
"""Of each figure and of its ratio."""
_WRITTEN: dict[str, Callable[[float], str]] = {
    "cycles": units.count,
    "energy_pj": units.energy,
    "edp_pj_cycles": "{:.3e}".format,
    "utilization": units.percent,
}


def comparison_table(found: Comparison) -> Table:
    """One row per phase and side."""
    rows = (
        _place(found, line.phase, line.name)
        | {"layers": line.layers, "layers_repeated": line.layers_repeated}
        | _columns(line.cost, line.ratios)
        | {f"geometric_mean_{ratio}": value for ratio, value in line.means.items()}
        for line in found.totals
    )
    return Table("comparison", tuple(rows))


def layers_table(found: Comparison) -> Table:
    """One row per phase, layer and side; figures are those of the layer once."""
    rows = (
        _place(found, line.phase, line.name)
        | {"layer": line.layer, "repeat": line.repeat, "partitioning": line.partitionings}
        | _columns(line.cost, line.ratios)
        for line in found.layers
    )
    return Table("comparison_layers", tuple(rows))


def comparison_text(found: Comparison, layers: bool = False) -> str:
    """Totals, geometric means and what is left out; `layers` adds the layers one by one."""
    blocks = [_totals(found), _means(found)]
    if layers:
        blocks += [_layers(found, phase) for phase in found.phases[:-1] or found.phases]
    notes = [line for note in (*_left_out(found.left_out), *_notes(found)) for line in wrapped(note, indent=0)]
    return "\n\n".join("\n".join(block) for block in (*blocks, notes) if block)


def title(found: Comparison, partitionings: str | None = None) -> str:
    """What is compared; `partitionings` are those that it was narrowed to."""
    base = found.baseline
    networks = dict.fromkeys(str(row["network"]) for side in found.sides for row in side.found.mappings[:1])
    batch = f", batch {base.manifest['batch']}" if "batch" in base.manifest else ""
    whose = "" if found.by == "design" else f" of {base.found.name}"
    names = ", ".join(side.name for side in found.sides)
    taken = "" if found.by == "partitioning" else _choice(found, (partitionings or "").replace(",", " ").split())
    return "\n".join(wrapped(f"{' / '.join(networks)}{batch}: {found.by}s{whose} {names}{taken}", indent=0))


def _choice(found: Comparison, partitionings: Sequence[str]) -> str:
    """Which partitioning a side stands for."""
    if len(partitionings) == 1:
        return f", partitioning {partitionings[0]}"
    metrics = "/".join(dict.fromkeys(side.found.metric for side in found.sides))
    of = f" of {', '.join(partitionings)}" if partitionings else ""
    return f"; every part of a layer takes the best partitioning{of} by {metrics}"


def differences(sides: Sequence[Side]) -> list[str]:
    """A line for each of the terms in which sides differ."""
    told = {side.name: _terms(side) for side in sides}
    lines = []
    for term in dict.fromkeys(term for terms in told.values() for term in terms):
        values: dict[str, list[str]] = defaultdict(list)
        for name, terms in told.items():
            values[terms.get(term, "not told")].append(name)
        if len(values) > 1:
            each = "; ".join(f"{value} in {', '.join(names)}" for value, names in values.items())
            lines.append(f"not the same {term}: {each}")
    return lines


def _terms(side: Side) -> dict[str, str]:
    """Those that the run and its manifest tell."""
    found, manifest = side.found, side.manifest
    constraints = manifest.get("constraints")
    told: dict[str, object] = {
        "network": next((row.get("network") for row in found.mappings), None),
        "batch": manifest.get("batch"),
        "densities": _densities(manifest) if "zeros" in manifest else None,
        "metric": found.metric,
        "constraints": None if constraints is None else "; ".join(map(str, constraints)) or "none",
        "clock (GHz)": found.limits.get("clock_ghz"),
        "technology (nm)": found.limits.get("technology_nm"),
        "bits of words": _listed(found.limits.get("bits")),
    }
    return {term: str(value) for term, value in told.items() if value is not None}


def _densities(manifest: Mapping[str, object]) -> str:
    """The options about zeros; of a file its hash too, as its name says nothing of what is in it."""
    inputs, zeros = manifest.get("inputs"), manifest["zeros"]
    hashes = {e["option"]: e["sha256"][:8] for e in inputs} if isinstance(inputs, list) else {}
    options = zeros if isinstance(zeros, Mapping) else {}
    return _listed({n: f"{value} {hashes.get(f'--{n}', '')}".strip() for n, value in options.items()}) or "dense"


def _listed(options: object) -> str | None:
    named = options if isinstance(options, Mapping) else {}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in named.items()) or None


def _place(found: Comparison, phase: str, name: str) -> Row:
    """Where phases are the sides, each is its own phase."""
    own = name if found.by == "phase" else phase
    return {"by": found.by, "name": name, "baseline": found.baseline.name, "phase": own}


def _columns(cost: Cost, ratios: Ratios) -> Row:
    row: Row = {"macs": cost.macs, "effectual_macs": cost.effectual_macs}
    for measure in MEASURES:
        row |= {measure.figure: getattr(cost, measure.figure), measure.ratio: ratios[measure.ratio]}
    return row


def _shown(found: Comparison) -> tuple[str, ...]:
    """Phases on a page: all of them together only where there are several."""
    return found.phases if len(found.phases) > 2 else found.phases[:1]


def _totals(found: Comparison) -> list[str]:
    base = clip(found.baseline.name, NAME)
    return [
        f"Totals: every layer times its repeat. Ratios are to {base}, the baseline: above 1 is better than it.",
        *_lines(found, _heads(), _figures),
    ]


def _means(found: Comparison) -> list[str]:
    def cells(line: TotalLine) -> list[str]:
        return [f"{line.layers_repeated:,}", *(ratio(line.means[m.ratio]) for m in MEASURES)]

    heads = ["layers", "speedup", "energy saving", "edp gain", "utilization gain"]
    return [
        "Geometric means of the ratios of single layers: each counts as often as it is repeated; above 1 is better.",
        *_lines(found, heads, cells),
    ]


def _lines(found: Comparison, heads: list[str], cells: Callable[[TotalLine], list[str]]) -> list[str]:
    """A table with a block per phase and a line per side; no column of phases where they are the sides."""
    phased = found.by != "phase"
    rows = [[*(["phase"] if phased else []), found.by, *heads]]
    for phase in _shown(found):
        block = [line for line in found.totals if line.phase == phase]
        for line in block:
            first = [phase if line is block[0] else ""] if phased else []
            rows.append([*first, clip(line.name, NAME), *cells(line)])
    return grid(rows, left=1 + phased)


def _layers(found: Comparison, phase: str) -> list[str]:
    rows = [["layer", found.by, "spread", "repeat", *_heads(without_edp=True)]]
    last = ""
    for line in (line for line in found.layers if line.phase == phase):
        names = [line.layer if line.layer != last else "", clip(line.name, NAME), clip(line.partitionings, SHORT)]
        rows.append([*names, f"{line.repeat:,}", *_figures(line, without_edp=True)])
        last = line.layer
    title = "Layers" if found.by == "phase" else f"Layers, {phase}"
    return [f"{title}: figures of one, whatever its repeat.", *grid(rows, left=3)]


def _heads(without_edp: bool = False) -> list[str]:
    pairs = ([f"edp {gain}"] if without_edp and name == EDP else [head, gain] for name, (head, gain) in _HEADS.items())
    return [head for pair in pairs for head in pair]


def _figures(line: TotalLine | LayerLine, without_edp: bool = False) -> list[str]:
    """Each figure and its ratio; `without_edp` leaves the edp itself out, where names of layers need the room."""
    cells = []
    for measure in MEASURES:
        value = getattr(line.cost, measure.figure)
        if measure.figure != EDP or not without_edp:
            cells.append("-" if value is None else _WRITTEN[measure.figure](value))
        cells.append(ratio(line.ratios[measure.ratio]))
    return cells


def ratio(value: float | None) -> str:
    """Three decimals, three digits where they would show nothing; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.3f}" if 0.1 <= value < 10_000 else f"{value:.3g}"


def _left_out(left: Iterable[LeftOut]) -> Iterator[str]:
    """What is not compared, by the reason."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for one in left:
        lacks = [f"not searched in {', '.join(one.unsearched)}"] if one.unsearched else []
        lacks += [f"no mapping of every part in {', '.join(one.unmapped)}"] if one.unmapped else []
        reasons[" and ".join(lacks)].append(one.layer if one.phase == ALL else f"{one.layer} {one.phase}")
    return (f"left out, {reason}: {', '.join(names)}" for reason, names in reasons.items())


def _notes(found: Comparison) -> Iterator[str]:
    """What is not proven, and where the work itself differs between phases."""
    for side in found.sides:
        used = [piece for place in found.places for piece in side.pieces[place]]
        proven = sum(piece.optimal for piece in used)
        if proven < len(used):
            yield f"{side.name}: {len(used) - proven} of {len(used)} mappings are not proven to be optimal"
    if found.by == "phase":
        work = {line.name: line.cost.macs for line in found.totals}
        if len(set(work.values())) > 1:
            each = ", ".join(f"{macs:,} in {name}" for name, macs in work.items())
            yield f"the phases differ in work, too: MACs are {each}"
