"""A network in a file, by its ending: a figure, or the graph for other tools."""

from __future__ import annotations

import io
import json
from typing import Any

from mapper.interconnect.graph import named
from mapper.report.network_figure import draw
from mapper.report.network_view import NetworkView

FIGURES = (".png", ".svg", ".pdf")
ENDINGS = (*FIGURES, ".graphml", ".json")


def as_file(view: NetworkView, heading: str, ending: str) -> bytes:
    """The file of one of `ENDINGS`; the heading stands above a figure. Raises `InputError` without matplotlib."""
    if ending in FIGURES:
        return draw(view, f"{heading}\n{view.evaluation.mapping}", ending.removeprefix("."))
    return as_graphml(view) if ending == ".graphml" else as_json(view)


def as_graphml(view: NetworkView) -> bytes:
    """GraphML, nodes named "parent", "pe 3 0" .."""
    import networkx as nx

    out = io.BytesIO()
    nx.write_graphml(named(view.graph), out, infer_numeric_types=True)
    return out.getvalue()


def as_json(view: NetworkView) -> bytes:
    """JSON of nodes and edges, as `networkx.node_link_graph(..., edges="edges")` reads it."""
    graph = named(view.graph)
    document: dict[str, Any] = {"directed": True, "multigraph": False, "graph": graph.graph}
    nodes = [{"id": node, **attributes} for node, attributes in graph.nodes(data=True)]
    edges = [{"source": start, "target": end, **attributes} for start, end, attributes in graph.edges(data=True)]
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in document.items()]
    for name, items in (("nodes", nodes), ("edges", edges)):
        rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        lines.append(f'"{name}": [\n{rows}\n]')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
