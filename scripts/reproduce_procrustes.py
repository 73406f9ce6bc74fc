#!/usr/bin/env python3
"""The results of Procrustes (MICRO 2020), computed anew: what sparse training saves over a dense baseline.

Five networks at the paper's batch, three phases: energy and cycles of `procrustes` (zeros skipped, K,N, half tiles
exchanged) over `dense_baseline`, the cycles of four partitionings, and how unevenly working sets are filled. The
paper's figures stand beside ours. How dense each layer is, the paper measured but did not publish: an assumption, hence
an option here, printed with the results, and varied in a table of its own. Every mapping is the proven optimum of its
space in energy-delay product.

\b
  scripts/reproduce_procrustes.py -j 2 --output results/procrustes
  scripts/reproduce_procrustes.py --networks resnet18 --partitionings KN --allocation uniform
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
from procrustes.assumptions import ALLOCATIONS, Assumptions
from procrustes.costs import MAIN, Study, best_of, plans, problems_of, solved
from procrustes.figures import draw
from procrustes.paper import ENERGY_SAVINGS, MOST_SPEEDUP, NEAR, ORDER, PUBLISHED
from procrustes.sensitivity import needed, scenarios, sensitivity, variants
from procrustes.tables import (
    baselines,
    components,
    overhead_table,
    partitionings,
    phase_cycles,
    savings,
    set_overheads,
)

from mapper.arch import load_arch
from mapper.errors import MapperError
from mapper.report.formats import Table, file_name, to_csv, to_markdown
from mapper.report.layout import on_page
from mapper.report.layout import table as laid_out
from mapper.workload.network import load_workload

BATCH = 64
"""Of the paper's simulator."""
ARCHS = ("dense_baseline", "procrustes")
TITLES = {
    "savings": "Energy saving and speedup over the dense baseline, both K,N (paper: as published)",
    "savings_over_best_baseline": "The same over the best dense partitioning of every part",
    "components": "Energy by component, as a share of the dense baseline's",
    "partitionings": "Cycles of the partitionings of Procrustes, mappings of the hardware's balancing (half_tile)",
    "phase_cycles": "Cycles by phase over those of dense work on all PEs: 1 is dense and never idle",
    "overheads": "Overhead of working sets, busiest PE / mean PE - 1: C,K not balanced (fw, bw), K,N half tiles",
    "sensitivity_energy": "Energy saving under other assumptions, same mappings",
    "sensitivity_speed": "Speedup under other assumptions, same mappings",
    "scenarios": f"Ours over the paper's figure under three assumptions; {1 - NEAR:g} to {1 + NEAR:g} is near",
    "needed": "What wu would have to cost for the paper's figure, as a share of its dense cost, fw and bw as here",
}


@dataclass(frozen=True)
class Time:
    """Seconds of the wall clock, and CPU seconds of this process and its workers."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Time:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), sum(each.ru_utime + each.ru_stime for each in used))

    def since(self, start: Time) -> str:
        return f"{self.wall - start.wall:.0f} s, {self.cpu - start.cpu:.0f} CPU s"


def tables_of(study: Study, jobs: int) -> list[Table]:
    """Every table that the searched designs allow."""
    with sensitivity(study, variants(study), jobs) as pending:
        compared = [components(study)]
        best = baselines(study)
        later = [best] if best else []
        if len(study.searched("sparse")) > 1:
            later += [partitionings(study), phase_cycles(study)]
        later.append(overhead_table(study))
        energies, speeds = pending()
    out = [savings(study), scenarios(energies, speeds), needed(study), *compared, energies, speeds, *later]
    return [table for table in out if table.rows]


def rounded(table: Table) -> Table:
    """For the eye: ratios with three digits, energies in millijoules."""
    columns = table.on_page or table.columns
    return Table(table.name, tuple(dict(_shown(name, row[name]) for name in columns) for row in table.rows))


def _shown(column: str, value: object) -> tuple[str, object]:
    if column.endswith("_pj"):
        return column.removesuffix("pj") + "mJ", None if value is None else f"{float(str(value)) / 1e9:.4g}"
    return column, f"{value:.3f}" if isinstance(value, float) else value


def printed(table: Table) -> str:
    shown = rounded(table)
    lines = laid_out(list(shown.columns), [[_cell(value) for value in row.values()] for row in shown.rows])
    return "\n".join([TITLES[table.name], *lines]) + "\n"


def _cell(value: object) -> str | int | None:
    return value if value is None or isinstance(value, int) else str(value)


def ranges(table: Table) -> str:
    """Least and most of the networks' savings, and the paper's."""
    whole = [row for row in table.rows if row["phase"] == "all"]
    energies, speeds = ([float(str(row[column])) for row in whole] for column in ("energy", "speedup"))
    low, high = ENERGY_SAVINGS
    return (
        f"Energy savings {min(energies):.2f} to {max(energies):.2f} (paper {low:g} to {high:g}), "
        f"speedups up to {max(speeds):.2f} (paper {MOST_SPEEDUP:g})\n\n"
    )


def write(folder: Path, tables: Sequence[Table], study: Study, text: str) -> None:
    """CSV and markdown of every table, the text of the terminal, and the figures where matplotlib is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / file_name(table, "csv")).write_bytes(to_csv(table))
        (folder / file_name(table, "md")).write_bytes(to_markdown(rounded(table)))
    (folder / "report.txt").write_text(text, encoding="utf-8")
    if find_spec("matplotlib") is None:
        click.echo("no figures: pip install 'mapper[plot]'", err=True)
        return
    by_name = {table.name: table for table in tables}
    for name, forms in draw(by_name, study, set_overheads(study)).items():
        for form, data in forms.items():
            (folder / f"{name}.{form}").write_bytes(data)


def _names(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))


def _compressions(_context: click.Context, _option: click.Parameter, value: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for text in value:
        network, sign, times = text.partition("=")
        try:
            out[network.strip()] = float(times)
        except ValueError:
            raise click.BadParameter(f"'{text}' is no NETWORK=TIMES such as wrn_28_10=4.3") from None
        if not sign:
            raise click.BadParameter(f"'{text}' is no NETWORK=TIMES such as wrn_28_10=4.3")
    return out


@click.command(help=__doc__)
@click.option("--networks", default=",".join(p.network for p in PUBLISHED), callback=_names, show_default=True)
@click.option("--partitionings", "spreads", default=",".join(ORDER), callback=_names, show_default=True)
@click.option("--baselines", "dense", default=MAIN, callback=_names, show_default=True, help="Of the dense baseline.")
@click.option("--batch", default=BATCH, show_default=True)
@click.option("--allocation", type=click.Choice(list(ALLOCATIONS)), default="erk", show_default=True)
@click.option("--activations", type=click.FloatRange(0, 1), help="Density of stored activations.  [default: tables]")
@click.option("--compression", multiple=True, callback=_compressions, metavar="NETWORK=TIMES", help="Repeatable.")
@click.option("-j", "--jobs", default=2, show_default=True, help="Processes.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of tables and figures.")
def main(
    networks: tuple[str, ...],
    spreads: tuple[str, ...],
    dense: tuple[str, ...],
    batch: int,
    allocation: str,
    activations: float | None,
    compression: dict[str, float],
    jobs: int,
    output: Path | None,
) -> None:
    start = Time.now()
    try:
        loaded = [load_workload(name, batch) for name in networks]
        assumptions = Assumptions(allocation, activations).compressed(compression)
        accelerators = load_arch(ARCHS[0]), load_arch(ARCHS[1])
        asked = plans(loaded, assumptions, _with_main(spreads), accelerators, _with_main(dense))
        count = len(problems_of(asked.values()))
        click.echo(f"{count} searches on {jobs} processes ...", err=True)
        outcomes = solved(asked, jobs)
        searched = Time.now()
        named = {network.name: network for network in loaded}
        study = Study(named, assumptions, accelerators, best_of(asked, outcomes))
        tables = tables_of(study, jobs)
    except MapperError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    taken = f"searches {searched.since(start)}; tables {Time.now().since(searched)}"
    text = on_page(["Assumptions", *(f"  {line}" for line in assumptions.lines()), f"  batch {batch}"])
    text += "\n" + ranges(tables[0]) + "\n".join(map(printed, tables))
    click.echo(text)
    click.echo(f"{count} searches, each proven optimal; {taken}", err=True)
    if output:
        write(output, tables, study, text)


def _with_main(names: Sequence[str]) -> tuple[str, ...]:
    """The partitioning of the comparison is always searched."""
    return tuple(dict.fromkeys((MAIN, *names)))


if __name__ == "__main__":
    main()
