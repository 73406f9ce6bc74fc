"""Figures of reports: one kind per file, one page wide, as `png`, `svg` or `pdf`."""

from __future__ import annotations

from mapper.cost import Evaluation
from mapper.report.figures.buffers import draw_buffers
from mapper.report.figures.energy import draw_energy
from mapper.report.figures.imbalance import draw_imbalance, imbalance_entries
from mapper.report.figures.pareto import Design, draw_pareto
from mapper.report.figures.points import sweep_figures
from mapper.report.figures.roofline import draw_roofline
from mapper.report.figures.speedup import draw_partitionings, draw_speedup
from mapper.report.figures.utilization import draw_utilization
from mapper.report.figures.work import draw_work
from mapper.report.results import Results

__all__ = [
    "Design",
    "draw_buffers",
    "draw_energy",
    "draw_imbalance",
    "draw_pareto",
    "draw_partitionings",
    "draw_roofline",
    "draw_speedup",
    "draw_utilization",
    "draw_work",
    "imbalance_entries",
    "mapping_figures",
    "run_figures",
    "sweep_figures",
]


def run_figures(results: Results, form: str = "svg") -> dict[str, bytes]:
    """Files by the name of the figure, of a run alone; figures that would say nothing of it are left out.

    Raises `InputError` without matplotlib.
    """
    found = {
        "energy": draw_energy(results, form=form),
        "speedup": draw_partitionings(results, form),
        "utilization": draw_utilization(results, form),
        "roofline": draw_roofline(results, form=form),
    }
    return {name: content for name, content in found.items() if content is not None}


def mapping_figures(evaluation: Evaluation, form: str = "svg") -> dict[str, bytes]:
    """Files by the name of the figure, of one mapping; figures that would say nothing of it are left out.

    Raises `InputError` without matplotlib.
    """
    title = f"{evaluation.accelerator.name}: imbalance of working sets, {evaluation.mapping}"
    found = {
        "work": draw_work(evaluation, form=form),
        "imbalance": draw_imbalance(imbalance_entries(evaluation), title, form),
    }
    return {name: content for name, content in found.items() if content is not None}
