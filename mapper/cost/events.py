"""Events of the units for sparse training, each with its picojoules: sorting halves, regenerating weights, sampling.

What a working set's balancing takes is charged each time the array loads it.
"""

from __future__ import annotations

import numpy as np

from mapper.arch.zeros import Event
from mapper.cost.energy import Charge, ChargeKey
from mapper.cost.waiting import Waits, plain_operand
from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Traffic, output_words
from mapper.mapping.loopnest import Ints
from mapper.sparsity.balance import sort_events
from mapper.sparsity.zeros import Moves

MISALIGNED = 1.5
"""Pointer reads per pointer in backward-data, where the halves' pointers lie in different banks (the Procrustes paper's
public simulator)."""


def event_charges(geometry: Geometry, traffic: Traffic, moves: Moves, waits: Waits) -> dict[ChargeKey, Charge]:
    """Charges of every event of the accelerator's units; none where nothing is sparse."""
    if moves.dense:
        return {}
    out: dict[ChargeKey, Charge] = {}
    for event in moves.zeros.events:
        counts = _counts(event, geometry, traffic, moves, waits)
        if counts is not None and counts.any():
            none = np.zeros(geometry.rows, dtype=np.int64)
            out[event.name, "", event.kind] = Charge(counts, none, np.asarray(counts * event.energy_pj, dtype=float))
    return out


def _counts(event: Event, geometry: Geometry, traffic: Traffic, moves: Moves, waits: Waits) -> Ints | None:
    if event.kind in ("sort", "pointer"):
        return _sorting(event.kind, geometry, moves, waits)
    ones = np.ones(geometry.rows, dtype=np.int64)
    output = geometry.nests.einsum.output
    if event.kind == "gradient":
        return ones * output_words(geometry.nests) if _weight_gradient(geometry) else None
    if event.kind == "sample":
        return ones * moves.zeros.monitor_samples * sum(t.data != "W" for t in moves.acting)
    return None if output.data == "W" else _regenerated(traffic, moves)


def _weight_gradient(geometry: Geometry) -> bool:
    return geometry.nests.einsum.output.data == "W"


def _regenerated(traffic: Traffic, moves: Moves) -> Ints | None:
    """Zero weights among those that enter PEs: their initial values are made there."""
    tensor = next((t for t in moves.acting if t.data == "W"), None)
    if tensor is None:
        return None
    words = traffic.words.get((moves.innermost(tensor), tensor.name, "fills"))
    top, bottom = moves.shares[tensor.name]
    return None if words is None else np.asarray(words * (bottom - top) / bottom)


def _sorting(kind: str, geometry: Geometry, moves: Moves, waits: Waits) -> Ints | None:
    if plain_operand(moves) is None or not waits.kinds:
        return None
    each = []
    for found in waits.kinds:
        swaps, pointers = sort_events(found[0], moves.balance) if found else (0, 0)
        sets = found[1].sets if found else 1
        each.append((swaps if kind == "sort" else pointers) / max(sets, 1))
    backward = kind == "pointer" and geometry.nests.einsum.output.data == "I"
    return np.asarray(np.array(each)[waits.which] * waits.loads * (MISALIGNED if backward else 1.0))
