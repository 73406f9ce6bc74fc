"""Constraints meet an accelerator and einsums: what can hold nowhere is refused, what no mapping satisfies is named.

`check` refuses what contradicts the accelerator or names what nothing has, before any search. Whether an einsum has
a mapping is a matter of its bounds: `unsatisfied` says why it has none, and other einsums go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mapper.arch.accelerator import Accelerator
from mapper.errors import InputError, did_you_mean
from mapper.mapping.binding import obstacle
from mapper.mapping.partitioning import LETTERS
from mapper.search.constraints import Constraints, Limit, Prefix, Residence, Rule, Utilization, cited, stated, where
from mapper.workload.einsum import ROLES, Einsum, Tensor

if TYPE_CHECKING:
    from mapper.search.space import Mapspace


def check(constraints: Constraints, accelerator: Accelerator, einsums: Iterable[Einsum]) -> None:
    """Refuse constraints that name nothing of `accelerator` and `einsums`, or that the accelerator contradicts.

    Letters of layers (`LETTERS`) and roles may always be named. Raises `InputError`.
    """
    if constraints.is_empty:
        return
    distinct = tuple(dict.fromkeys(einsums))
    dimensions = tuple(dict.fromkeys(d for einsum in distinct for d in einsum.dimensions))
    tensors = tuple(dict.fromkeys(tensor.name for einsum in distinct for tensor in einsum.tensors))
    for rule in constraints.rules:
        _check_names(rule, accelerator, dimensions, tensors)
    _check_lanes(constraints, accelerator)
    for residence in constraints.residences:
        for tensor in dict.fromkeys(tensor for einsum in distinct for tensor in einsum.tensors):
            _check_residence(residence, tensor, constraints, accelerator)


def _check_names(rule: Rule, accelerator: Accelerator, dimensions: Sequence[str], tensors: Sequence[str]) -> None:
    if isinstance(rule, Utilization):
        return
    if rule.level not in accelerator.level_names:
        hint = did_you_mean(rule.level, accelerator.level_names)
        raise InputError(f"{accelerator.name} has no level '{rule.level}'", where(rule), hint)
    if isinstance(rule, Residence):
        if rule.tensor not in tensors and rule.tensor not in ROLES:
            hint = did_you_mean(rule.tensor, (*tensors, *(role for role in ROLES if role not in tensors)))
            raise InputError(f"{stated(rule)}: no tensor '{rule.tensor}'", where(rule), hint)
        return
    for dimension in rule.dimensions if isinstance(rule, Prefix) else (rule.dimension,):
        if dimension not in dimensions and dimension not in LETTERS:
            hint = did_you_mean(dimension, dimensions)
            raise InputError(f"{stated(rule)}: no dimension '{dimension}'", where(rule), hint)


def _check_lanes(constraints: Constraints, accelerator: Accelerator) -> None:
    """The fewest lanes asked for fit each axis, one by one and together."""
    for level in accelerator.levels:
        for kind in "xy":
            wide = [r for r in constraints.limits if (r.level, r.kind) == (level.name, kind) and r.factors.low > 1]
            lanes = level.fanout.axis(kind).lanes
            large = [limit for limit in wide if limit.factors.low > lanes][:1]
            taken = math.prod(limit.factors.low for limit in wide)
            if large or taken > lanes:
                named = large or wide
                asked = " and ".join(map(stated, named))
                least = math.prod(limit.factors.low for limit in named)
                axis = f"{kind.upper()} below {level.name}"
                hint = f"at most {lanes}" if lanes > 1 else _fanouts(accelerator, kind)
                message = f"{asked}: {least} lanes, where {accelerator.name} has {lanes} on {axis}"
                raise InputError(message, where(*named), hint)


def _fanouts(accelerator: Accelerator, kind: str) -> str:
    names = [level.name for level in accelerator.levels if level.fanout.axis(kind).lanes > 1]
    return f"{kind.upper()} has lanes below {', '.join(names)}" if names else f"no level has lanes on {kind.upper()}"


def _check_residence(rule: Residence, tensor: Tensor, constraints: Constraints, accelerator: Accelerator) -> None:
    """The accelerator leaves the choice open, or has made the same; nothing else is asked of the tensor."""
    if not rule.means(tensor):
        return
    index = accelerator.level_names.index(rule.level)
    name = rule.tensor if rule.tensor == tensor.name else f"{tensor.name} (role {tensor.role})"
    if tensor.role not in accelerator.open_roles(index):
        kept = index == 0 or tensor.role in accelerator.levels[index].keep
        if kept != rule.kept:
            always = "always keeps" if kept else "never keeps"
            able = ", ".join(sorted(accelerator.open_roles(index), key=ROLES.index)) or "nothing"
            raise InputError(
                f"{stated(rule)}: {accelerator.name} {always} {name} in {rule.level}",
                where(rule),
                f"left open there by may_keep: {able}",
            )
    for other in constraints.residences:
        if other.level == rule.level and other.means(tensor) and other.kept != rule.kept:
            raise InputError(f"{stated(rule)} contradicts {cited(other)}: both are about {tensor.name}", where(rule))


def unsatisfied(space: Mapspace) -> str | None:
    """Why no mapping of `space` satisfies its constraints, naming those involved; None where one does.

    Whether it fits the buffers and reaches the utilization asked for is not looked at.
    """
    limits = space.constraints.limits
    for dimension in dict.fromkeys(limit.dimension for limit in limits):
        reason = _unsatisfied_chain(space, dimension)
        if reason:
            return reason
    if limits and space.size == 0:
        involved = _involved(limits, lambda kept: replace(space, constraints=kept).size == 0)
        return f"no mapping within the lanes of {space.accelerator.name} satisfies: {_listed(involved)}"
    return None


def _unsatisfied_chain(space: Mapspace, dimension: str) -> str | None:
    """Why no chain of a dimension is allowed."""
    bound = space.einsum.extent.get(dimension, 1)
    barred = [limit for limit in space.barred if limit.dimension == dimension]
    if barred:
        return f"no chain of {dimension}={bound} satisfies: {cited(barred[0])}{_why(space, barred[0])}"
    if dimension not in space.looped or len(space.chains(dimension)):
        return None
    mine = [limit for limit in space.constraints.limits if limit.dimension == dimension]
    involved = _involved(mine, lambda kept: not len(replace(space, constraints=kept).chains(dimension)))
    return f"no chain of {dimension}={bound} satisfies: {_listed(involved)}"


def _why(space: Mapspace, limit: Limit) -> str:
    """Why a dimension of several steps has no place to loop."""
    if limit.dimension not in space.looped:
        return ""
    axis = space.accelerator.levels[space.accelerator.level_names.index(limit.level)].fanout.axis(limit.kind)
    found = obstacle(limit.dimension, axis, space.einsum)
    there = f"over {limit.kind.upper()} below {limit.level}"
    if found:
        return f"; {space.accelerator.name} cannot spread {limit.dimension} {there}: {found}"
    return f"; partitioning {space.partitioning} does not spread {limit.dimension} {there}"


def _involved(limits: Sequence[Limit], fails: Callable[[Constraints], bool]) -> list[Limit]:
    """A smallest part of `limits` that fails by itself: without any one of them it would not."""
    kept = list(limits)
    for limit in limits:
        fewer = [other for other in kept if other != limit]
        if fails(Constraints(tuple(fewer))):
            kept = fewer
    return kept


def _listed(limits: Iterable[Limit]) -> str:
    return ", ".join(map(cited, limits))
