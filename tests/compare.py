"""Where the closed form and the oracle differ: every count, every port of every instance, every bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from mapper.arch.accelerator import Buffer
from mapper.cost.batch import evaluate_nests
from mapper.cost.latency import sharing_of
from mapper.counts.multicast import max_multicast
from mapper.counts.traffic import ACTIONS, Sharing, count
from tests.oracle import OracleCounts, run
from tests.strategies import Case

Named = dict[str, int]


def differences(case: Case) -> list[str]:
    """One line per figure that differs; none: the closed form is exact on this case."""
    counts = run(case)
    pairs = [
        (_executed_words(case, counts), _closed_words(case)),
        (_executed_costs(case, counts), _closed_costs(case)),
    ]
    return [line for executed, closed in pairs for line in _compare(executed, closed)]


def _compare(executed: Named, closed: Named) -> Iterator[str]:
    for name in sorted(executed.keys() | closed.keys()):
        left, right = executed.get(name, 0), closed.get(name, 0)
        if left != right:
            yield f"{name}: executed {left}, closed form {right}"


def _parent(case: Case, level: int, tensor: str) -> int:
    """The next level above `level` that keeps `tensor`."""
    return max(above for above in range(level) if tensor in case.nests.keeps[above])


def _executed_words(case: Case, counts: OracleCounts) -> Named:
    named = {f"L{level} {tensor} {action}": words for (level, tensor, action), words in counts.counts.items()}
    named["temporal reductions"] = counts.temporal_reductions
    for (level, tensor), edge in counts.edge.items():
        parent = _parent(case, level, tensor)
        if tensor == case.einsum.output.name:
            named[f"into L{parent} {tensor} reductions"] = edge["reductions"]
        else:
            named[f"below L{parent} {tensor} receivers"] = edge["max_multicast"]
    return named


def _closed_words(case: Case) -> Named:
    sharing = Sharing(case.multicast)
    traffic = count(case.nests, sharing)
    named = {f"L{level} {tensor} {action}": int(words[0]) for (level, tensor, action), words in traffic.words.items()}
    named["temporal reductions"] = int(traffic.temporal_reductions[0])
    for (level, tensor), words in traffic.reductions.items():
        named[f"into L{level} {tensor} reductions"] = int(words[0])
    for (level, tensor), children in max_multicast(case.nests, sharing).items():
        named[f"below L{level} {tensor} receivers"] = int(children[0])
    return named


def _executed_costs(case: Case, counts: OracleCounts) -> Named:
    """Cycles of compute and of every limited port, bits of every action, words of every tile."""
    named = {"compute": counts.cycles}
    for level, spec in enumerate(case.accelerator.levels):
        instances = [instance for at, instance in counts.instance if at == level]
        moved = [bits_moved(case, counts, level, [instance]) for instance in instances]
        for buffer in spec.buffers:
            for port, bandwidth, actions in _ports(buffer):
                busiest = max(
                    sum(bits[t, a] for t, a in bits if a in actions and _in(case, buffer, t)) for bits in moved
                )
                named[f"{buffer.name} {port}"] = math.ceil(busiest / bandwidth)
        total = bits_moved(case, counts, level, instances)
        named.update({f"L{level} {tensor} {action} bits": bits for (tensor, action), bits in total.items()})
    named.update({f"L{level} {tensor} tile": words for (level, tensor), words in counts.tile_words.items()})
    most = max(named[name] for name in named if name == "compute" or name.split()[-1] in ("read", "write", "shared"))
    return {**named, "cycles": most}


def _ports(buffer: Buffer) -> Iterator[tuple[str, Fraction, set[str]]]:
    """Limited ports, their bits per cycle, and the actions they carry."""
    reading, writing = {"reads", "drains"} if buffer.drain_on_read_port else {"reads"}, {"fills", "updates"}
    if buffer.read_bandwidth is not None:
        yield "read", buffer.read_bandwidth, reading
    if buffer.write_bandwidth is not None:
        yield "write", buffer.write_bandwidth, writing
    if buffer.shared_bandwidth is not None:
        yield "shared", buffer.shared_bandwidth, reading | writing


def _in(case: Case, buffer: Buffer, tensor: str) -> bool:
    return case.einsum.tensor(tensor).role in buffer.roles


def bits_moved(
    case: Case, counts: OracleCounts, level: int, instances: list[tuple[int, ...]]
) -> dict[tuple[str, str], int]:
    """Bits per (tensor, action) at some instances of `level`.

    The last update of a word is final where no reduction loop stands above, and all that drains there is. All else that
    is accumulated is partial.
    """
    output, bits = case.einsum.output, dict(case.accelerator.bits)
    partial, final = bits["partial_sum"], bits[output.data]
    reduced = any(
        slot.level < level and factor > 1 and slot.dimension in case.einsum.reductions
        for slot, factor in zip(case.nests.slots, case.nests.factors[0], strict=True)
    )
    moved: dict[tuple[str, str], int] = {
        (tensor.name, action): 0 for tensor in case.einsum.tensors for action in ACTIONS
    }
    for instance in instances:
        for (tensor, action), words in counts.instance[level, instance].items():
            if tensor != output.name:
                moved[tensor, action] += words * bits[case.einsum.tensor(tensor).data]
            elif action == "drains":
                moved[tensor, action] += words * (partial if reduced else final)
            else:
                done = counts.final_updates.get((level, instance), 0) if action == "updates" and not reduced else 0
                moved[tensor, action] += done * final + (words - done) * partial
    return moved


def _closed_costs(case: Case) -> Named:
    assert sharing_of(case.accelerator) == Sharing(case.multicast)
    evaluation = evaluate_nests(case.nests, case.accelerator)
    named = {name: int(cycles[0]) for name, cycles in evaluation.bounds.items()}
    for (component, tensor, action), charge in evaluation.charges.items():
        if action in ACTIONS:
            named[f"{component[:2]} {tensor} {action} bits"] = int(charge.bits[0])
    named.update({f"L{level} {tensor} tile": int(words[0]) for (level, tensor), words in evaluation.tile_words.items()})
    return {**named, "cycles": int(evaluation.costs.cycles[0])}
