"""The cases of `procrustes.json` and `timeloop.json`: the figures of a simulator beside our evaluation of its mapping.

One bit stands for one word, so bandwidths are words per cycle. Bandwidths carry no drains, as in both simulators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from mapper.arch.accelerator import Accelerator, Axis, Buffer, Compute, Energies, Fanout, Level
from mapper.cost import Evaluation, evaluate_one
from mapper.mapping import LoopNest, bind, parse_nest
from mapper.workload.einsum import ROLES, Einsum, Rank
from tests.golden.convert import Key, timeloop_nest

BITS = tuple((name, 1) for name in (*ROLES, "partial_sum"))
COUNTS = ("reads", "fills", "updates", "temporal_reductions")


@dataclass(frozen=True)
class Golden:
    """One case. `figures` holds what was printed per used instance, `tile` and `instances` included.

    `energy_pj`, of all instances, is kept for operands that do not slide. `level_cycles`: cycles that each level asks
    for; `multicast` below the GLB. Each file has only one of the two.
    """

    name: str
    ids: tuple[str, ...]
    evaluation: Evaluation
    figures: dict[Key, int]
    energy_pj: dict[tuple[str, str], float]
    cycles: int
    computes: int | None
    units: int | None
    level_cycles: dict[str, int]
    multicast: dict[str, int]
    rmw: bool

    def __str__(self) -> str:
        return self.name

    @property
    def einsum(self) -> Einsum:
        return self.evaluation.einsum

    @property
    def counts(self) -> dict[Key, int]:
        """The words among the figures."""
        return {key: words for key, words in self.figures.items() if key[2] in COUNTS}


def slides(einsum: Einsum, tensor: str) -> bool:
    """Whether the tiles of a tensor can overlap: a rank of several dimensions."""
    return any(_moving(rank, einsum) > 1 for rank in einsum.tensor(tensor).ranks)


def _moving(rank: Rank, einsum: Einsum) -> int:
    return sum(einsum.extent[term.dimension] > 1 for term in rank)


def procrustes_cases() -> list[Golden]:
    """Every mapping and accelerator of the Procrustes simulator, once."""
    content = _read("procrustes.json")
    return [_procrustes(case, content["accelerators"]) for case in content["cases"]]


def timeloop_cases() -> list[Golden]:
    """Every dense case of Timeloop."""
    return [_timeloop(case) for case in _read("timeloop.json")["cases"]]


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return content


def _procrustes(case: dict[str, Any], accelerators: dict[str, Any]) -> Golden:
    spec = accelerators[case["accelerator"]]
    mesh = Fanout(Axis(spec["mesh"]), Axis(spec["mesh"]))
    levels = [
        Level(name, (_vector_buffer(name, memory),), *_open(name == "DRAM"), mesh if name == "GLB" else Fanout())
        for name, memory in spec["levels"].items()
    ]
    nest, einsum = parse_nest(case["mapping"]), Einsum.parse(case["einsum"])
    bypassed = case.get("bypass", {})
    keeps = {
        name: frozenset(t.name for t in einsum.tensors if t.name not in bypassed.get(name, ()))
        for name in spec["levels"]
    }
    evaluation = _evaluate(nest, keeps, einsum, levels)
    tensors = [(level, tensor, f) for level, held in case["levels"].items() for tensor, f in held.items()]
    return Golden(
        name=case["ids"][0].partition("/")[0],
        ids=tuple(case["ids"]),
        evaluation=evaluation,
        figures={(at, t, action): n for at, t, f in tensors for action, n in f.items() if action != "energy_pj"},
        energy_pj={(at, t): f["energy_pj"] * f["instances"] for at, t, f in tensors if "energy_pj" in f},
        cycles=case["cycles"],
        computes=None,
        units=None,
        level_cycles={},
        multicast=case["multicast"],
        rmw=False,
    )


def _vector_buffer(name: str, memory: dict[str, Any]) -> Buffer:
    """One energy per access of a vector of words, whatever the action."""
    each = memory["vector_pj"] / memory["vector_words"]
    return _buffer(name, memory, memory.get("capacity_words"), Energies(each, each, 0.0, "the simulator"))


def _timeloop(case: dict[str, Any]) -> Golden:
    memories, below = case["levels"][:-1], case["levels"][1:]
    levels = [
        Level(m["name"], (_timeloop_buffer(m),), *_open(i == 0), _fanout(m, child))
        for i, (m, child) in enumerate(zip(memories, below, strict=True))
    ]
    einsum = Einsum.parse(case["einsum"])
    nest = timeloop_nest(case["mapping"], [level.name for level in levels])
    everything = frozenset(tensor.name for tensor in einsum.tensors)
    keeps = {level.name: everything if level.keeps is None else level.keeps for level in nest.levels}
    printed = {level: dict(held) for level, held in case["figures"].items()}
    level_cycles = {level: held.pop("cycles") for level, held in printed.items()}
    tensors = [(level, tensor, f) for level, held in printed.items() for tensor, f in held.items()]
    return Golden(
        name=case["name"],
        ids=(case["name"],),
        evaluation=_evaluate(nest, keeps, einsum, levels),
        figures={(at, t, action): n for at, t, f in tensors for action, n in f.items() if action != "energy_pj"},
        energy_pj={(at, t): f["energy_pj"] for at, t, f in tensors if "energy_pj" in f},
        cycles=case["cycles"],
        computes=case["computes"],
        units=case["instances"],
        level_cycles=level_cycles,
        multicast={},
        rmw=any("rmw_first_update" in directive for directive in case["mapping"]),
    )


def _timeloop_buffer(memory: dict[str, Any]) -> Buffer:
    energy = memory.get("energy", {"read": 0.0, "fill": 0.0})
    energies = Energies(energy["read"], energy["fill"], 0.0, "the simulator")
    buffer = _buffer(memory["name"], memory, memory.get("entries"), energies)
    return replace(buffer, double_buffered=memory.get("multiple_buffering") == 2)


def _fanout(memory: dict[str, Any], child: dict[str, Any]) -> Fanout:
    """The children of one instance, from the instances and the columns of both levels."""
    x = child["mesh_x"] // memory["mesh_x"]
    return Fanout(Axis(x), Axis(child["instances"] // memory["instances"] // x))


def _buffer(name: str, memory: dict[str, Any], capacity: int | None, energies: Energies) -> Buffer:
    read, write, shared = (
        Fraction(str(memory[key])) if key in memory else None
        for key in ("read_bandwidth", "write_bandwidth", "shared_bandwidth")
    )
    return Buffer(
        name,
        frozenset(ROLES),
        energies,
        capacity_bits=capacity,
        read_bandwidth=read,
        write_bandwidth=write,
        shared_bandwidth=shared,
        drain_on_read_port=False,
    )


def _open(outermost: bool) -> tuple[frozenset[str], frozenset[str]]:
    """What a level keeps and may keep: the outermost everything, the others what the mapping says."""
    roles: frozenset[str] = frozenset(ROLES)
    return (roles, frozenset()) if outermost else (frozenset(), roles)


def _evaluate(nest: LoopNest, keeps: dict[str, frozenset[str]], einsum: Einsum, levels: list[Level]) -> Evaluation:
    kept = LoopNest(tuple(replace(level, keeps=keeps[level.name]) for level in nest.levels))
    accelerator = Accelerator("golden", tuple(levels), Compute(0.0, "not compared"), BITS)
    return evaluate_one(bind(kept, einsum, accelerator), accelerator)
