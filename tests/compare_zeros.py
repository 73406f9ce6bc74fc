"""Where the model of zeros and the oracle differ: words and bits of every action, effectual points, compute cycles.

How the model is asked, and what it calls the figures, stands in `evaluated` and `_closed` only.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from mapper.cost.single import Evaluation, evaluate_one
from mapper.counts.traffic import ACTIONS
from mapper.sparsity.density import Actual
from mapper.sparsity.zeros import Sparsity
from tests.compare import bits_moved
from tests.oracle_zeros import Amount, ZeroCounts, run
from tests.strategies_zeros import ZeroCase

Named = dict[str, Amount | float]

CLOSE = 1e-9
"""How far from the exact figure, relative to it, a share of the model may be, which is a float: less than any word."""


def differences(case: ZeroCase) -> list[str]:
    """One line per figure that differs; none: the model is right on this case."""
    executed, closed = _executed(case, run(case)), _closed(case, evaluated(case))
    lines = []
    for name in sorted(executed.keys() | closed.keys()):
        left, right = executed.get(name, 0), closed.get(name, 0)
        if not _same(left, right):
            lines.append(f"{name}: executed {left}, model {right}")
    return lines


def evaluated(case: ZeroCase) -> Evaluation:
    """What the model says of a case."""
    accelerator = replace(case.accelerator, zeros=case.zeros)
    densities = tuple((name, Actual(mask)) for name, mask in case.masks.items())
    return evaluate_one(case.nests, accelerator, Sparsity(densities, case.balance))


def _same(executed: Amount | float, closed: Amount | float) -> bool:
    return abs(float(executed) - float(closed)) <= CLOSE * abs(float(executed))


def _executed(case: ZeroCase, counts: ZeroCounts) -> Named:
    named: Named = {"compute": counts.cycles, "effectual": counts.effectual, "executed": counts.effectual}
    words: dict[tuple[int, str, str], Amount] = {**counts.dense.counts, **counts.words}
    bits: dict[tuple[int, str, str], Amount] = {**_dense_bits(case, counts), **counts.bits}
    for level, tensor, action in words:
        key, name = (level, tensor, action), f"L{level} {tensor} {action}"
        named[name], named[f"{name} bits"] = words[key], bits[key]
        if tensor == case.einsum.output.name and key in counts.words and counts.dense.counts[key]:
            # Accumulated words that are left out are finished and partial ones alike.
            named[f"{name} bits"] = bits[key] * Fraction(words[key]) / counts.dense.counts[key]
    return named


def _dense_bits(case: ZeroCase, counts: ZeroCounts) -> dict[tuple[int, str, str], Amount]:
    return {
        (level, tensor, action): bits
        for level in range(len(case.nests.keeps))
        for (tensor, action), bits in bits_moved(
            case.dense, counts.dense, level, [instance for at, instance in counts.dense.instance if at == level]
        ).items()
    }


def _closed(case: ZeroCase, found: Evaluation) -> Named:
    named: Named = {"compute": found.bounds["compute"], "effectual": found.effectual_points}
    levels = {buffer.name: level.name for level in case.accelerator.levels for buffer in level.buffers}
    for item in found.items:
        if item.component == case.accelerator.compute.name and item.action == "points":
            named["executed"] = item.count
        elif item.action in ACTIONS:
            name = f"{levels[item.component]} {item.tensor} {item.action}"
            named[name], named[f"{name} bits"] = item.count, item.bits
    return named
