"""What a run was: its version, command line, inputs and their hashes, and the limits of the accelerator.

Nothing in it says on which machine it ran; only `wall_time_s` differs between two runs of the same command.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from mapper import __version__
from mapper.arch import Accelerator, Axis, Buffer, Level
from mapper.arch.load import arch_file
from mapper.arch.network import Network
from mapper.arch.zeros import Zeros
from mapper.cost.energy import area_um2
from mapper.errors import InputError
from mapper.runs import Run
from mapper.runs.sweep import SweepRun
from mapper.shipped import is_file
from mapper.sparsity.asked import ZerosAsked
from mapper.workload.network import workload_file

Entry = dict[str, object]

NOTHING_ASKED = ZerosAsked()

SWEEP = "sweep"
"""The `kind` of a sweep's manifest; that of a search has none."""


def input_file(option: str, given: str, path: Path | str) -> Entry:
    """An input as the manifest lists it, with the hash of what the file holds now."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}", where=option) from None
    return {
        "option": option,
        "given": given,
        "path": str(Path(path).resolve()),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def inputs(workload: str, arch: str, zeros: ZerosAsked = NOTHING_ASKED, constraints: str | None = None) -> list[Entry]:
    """The files that a search reads: of the network, the accelerator, masks, densities and constraints."""
    network = workload_file(workload)
    files = [] if network is None else [input_file("NETWORK", workload, network)]
    files.append(input_file("--arch", arch, arch_file(arch)))
    for option, given in (("--constraints", constraints), ("--masks", zeros.masks), ("--density", zeros.density)):
        if given is not None and is_file(given):
            files.append(input_file(option, given, given))
    return files


def manifest(
    run: Run,
    workload: str,
    arguments: Sequence[str],
    inputs: Iterable[Entry],
    files: Iterable[str],
    zeros: Entry | None = None,
) -> bytes:
    """`manifest.json`. `workload` is the network or layer as given, `arguments` the command line behind `mapper`."""
    plan = run.plan
    document: Entry = {
        "version": __version__,
        "command": ["mapper", *arguments],
        "workload": workload,
        "network": plan.network.name,
        "layers": list(plan.network.layer_names),
        "batch": plan.network.batch,
        "arch": plan.accelerator.name,
        "phases": [str(phase) for phase in plan.phases],
        "partitionings": [partitioning.name for partitioning in plan.partitionings],
        "constraints": list(plan.constraints.lines),
        "zeros": zeros or {},
        "metric": plan.metric,
        "top": plan.top,
        "input_gradients": plan.input_gradients,
        "seeds": {},
        "inputs": list(inputs),
        "limits": limits(plan.accelerator),
        "problems": _problems(run),
        "files": list(files),
        "wall_time_s": round(run.seconds, 3),
    }
    return _written(document)


def sweep_manifest(run: SweepRun, arguments: Sequence[str], inputs: Iterable[Entry], files: Iterable[str]) -> bytes:
    """`manifest.json` of a sweep; `limits` of each accelerator go by the first point that has it."""
    sweep = run.sweep
    accelerators: dict[Accelerator, str] = {}
    for point in sweep.points:
        accelerators.setdefault(point.plan.accelerator, str(point))
    document: Entry = {
        "version": __version__,
        "kind": SWEEP,
        "command": ["mapper", *arguments],
        "sweep": sweep.name,
        "axes": list(sweep.axes),
        "points": [dict(point.names) for point in sweep.points],
        "seeds": {},
        "inputs": list(inputs),
        "limits": {name: limits(accelerator) for accelerator, name in accelerators.items()},
        "problems": _numbers(run, len(sweep.tasks), len(sweep.problems))
        | {"failed": sum(len(point.failures) for point in run.points)},
        "files": list(files),
        "wall_time_s": round(run.seconds, 3),
    }
    return _written(document, ("points", "limits"))


def _written(document: Entry, long: Sequence[str] = ()) -> bytes:
    """JSON; of what is `long` an entry takes a line."""
    lines = (f"  {_text(key)}: {_lined(value) if key in long else _indented(value)}" for key, value in document.items())
    # Names of files need not be UTF-8; JSON has a way to write any.
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode(errors="backslashreplace")


def _text(value: object, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _indented(value: object) -> str:
    return _text(value, 2).replace("\n", "\n  ")


def _lined(value: object) -> str:
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"    {_text(key)}: {_text(each)}" for key, each in value.items()) + "\n  }"
    return "[\n" + ",\n".join(f"    {_text(each)}" for each in cast(Iterable[object], value)) + "\n  ]"


def limits(accelerator: Accelerator) -> Entry:
    """What bounds every mapping and what every action costs, as the accelerator's file says."""
    areas = area_um2(accelerator)
    compute = accelerator.compute
    levels = zip(accelerator.levels, accelerator.instances, strict=False)
    return {
        "name": accelerator.name,
        "technology_nm": accelerator.technology_nm,
        "clock_ghz": accelerator.clock_ghz,
        "bits": dict(accelerator.bits),
        "levels": [_level(level, instances, areas) for level, instances in levels],
        "compute": {
            "name": compute.name,
            "units": accelerator.pes,
            "energy_pj": compute.energy_pj,
            "source": compute.source,
            "leakage_mw": compute.leakage_mw,
            "area_um2": areas[compute.name],
        },
        "zeros": _zeros(accelerator.zeros),
    }


def _zeros(zeros: Zeros | None) -> Entry | None:
    """What the hardware does about zeros; null: nothing."""
    if zeros is None:
        return None
    formats = {f"{level} {role}": form.kind for (level, role), form in zeros.formats}
    events = [{"name": e.name, "kind": e.kind, "energy_pj": e.energy_pj, "source": e.source} for e in zeros.events]
    return {
        "skip": sorted(zeros.skip),
        "gate": sorted(zeros.gate),
        "balance": zeros.balance,
        "formats": formats,
        "capacity_quantile": zeros.capacity_quantile,
        "skip_block": zeros.skip_block,
        "compaction": zeros.compaction,
        "overhead_energy": zeros.overhead_energy,
        "overhead_area": zeros.overhead_area,
        "overhead_source": zeros.overhead_source,
        "events": events,
    }


def _level(level: Level, instances: int, areas: dict[str, float | None]) -> Entry:
    """Areas are of all instances together."""
    return {
        "name": level.name,
        "instances": instances,
        "keep": sorted(level.keep),
        "may_keep": sorted(level.may_keep),
        "buffers": [_buffer(buffer) | {"area_um2": areas[buffer.name]} for buffer in level.buffers],
        "fanout": {kind: _axis(level.fanout.axis(kind)) for kind in "xy"} | {"network": _network(level.fanout.network)},
    }


def _network(network: Network | None) -> Entry | None:
    if network is None:
        return None
    bandwidth = network.link_bits_per_cycle
    return asdict(network) | {"link_bits_per_cycle": None if bandwidth is None else float(bandwidth)}


def _axis(axis: Axis) -> Entry:
    return {
        "lanes": axis.lanes,
        "multicast": axis.multicast,
        "reduction": axis.reduction,
        "allowed": None if axis.allowed is None else sorted(axis.allowed),
    }


def _buffer(buffer: Buffer) -> Entry:
    """Of one instance. Capacity null and a bandwidth left out mean unlimited."""
    ports = {"read": buffer.read_bandwidth, "write": buffer.write_bandwidth, "shared": buffer.shared_bandwidth}
    energies = buffer.energies
    return {
        "name": buffer.name,
        "tensors": sorted(buffer.roles),
        "capacity_bits": buffer.capacity_bits,
        "double_buffered": buffer.double_buffered,
        "bandwidth_bits_per_cycle": {port: float(bits) for port, bits in ports.items() if bits is not None},
        "energy_pj_per_bit": {"read": energies.read, "write": energies.write, "drain": energies.drain},
        "source": energies.source,
        "leakage_mw": buffer.leakage_mw,
    }


def _problems(run: Run) -> Entry:
    return _numbers(run, len(run.plan.tasks), len(run.plan.problems)) | {
        "failed": [{"ranking": str(task), "reason": str(error)} for task, error in run.failures],
        "unfinished": [str(task) for task in run.unfinished],
    }


def _numbers(run: Run | SweepRun, rankings: int, searches: int) -> Entry:
    return {
        "rankings": rankings,
        "searches": searches,
        "finished": len(run.outcomes),
        "stopped": None if run.stopped is None else str(run.stopped),
    }
