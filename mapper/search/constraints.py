"""What a user asks of the mappings of a search, and what it means for chains, loop orders and kept tensors.

    GLB: C<=8 P=7            factors of temporal loops in a level; a dimension without a loop there has factor 1
    GLB X: K=16              lanes of an axis below the level
    GLB order: N K           of the loops in the level, N stands first and K next, outside all others
    GLB keeps: W             a tensor that the spec leaves open (may_keep) is kept, or with `bypasses` is not
    min_utilization: 0.85    mappings of less utilization are left out

A dimension that an einsum does not have loops once everywhere, as one of bound 1 does: `R<=3` says nothing of it, and
`R=3` has no mapping. W, I and O are roles, as in the accelerator's file; any other tensor is meant by its name, and an
einsum that has none of that name is left alone.

Every constraint remembers where it was written (its `sources`) for messages; equality and hash do not look at that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mapper.errors import InputError
from mapper.mapping.loopnest import KINDS, Ints
from mapper.workload.einsum import ROLES, Tensor

Bools = NDArray[np.bool_]
Sources = tuple[str, ...]
Key = tuple[int, str, int, str]
"""What a rule is about, and its place in the canonical order: two rules of one key are merged, or contradict."""

_AXES = {"x": " X", "y": " Y"}


@dataclass(frozen=True)
class Factors:
    """A set of factors: all from `low` to `high` (None: without end); only `listed` where those are not in a row."""

    low: int = 1
    high: int | None = None
    listed: tuple[int, ...] | None = None

    @classmethod
    def of(cls, *values: int) -> Factors:
        """Exactly these, one or more."""
        every = tuple(sorted(set(values)))
        in_a_row = every[-1] - every[0] == len(every) - 1
        return cls(every[0], every[-1], None if in_a_row else every)

    def __contains__(self, factor: int) -> bool:
        if self.listed is not None:
            return factor in self.listed
        return self.low <= factor and (self.high is None or factor <= self.high)

    def mask(self, values: Ints) -> Bools:
        """Which of `values` are allowed."""
        if self.listed is not None:
            return np.isin(values, self.listed)
        mask: Bools = values >= self.low
        return mask if self.high is None else mask & (values <= self.high)

    def __and__(self, other: Factors) -> Factors | None:
        """What both allow, None where that is nothing."""
        for one, rest in ((self, other), (other, self)):
            if one.listed is not None:
                common = [factor for factor in one.listed if factor in rest]
                return Factors.of(*common) if common else None
        low, highs = max(self.low, other.low), [f.high for f in (self, other) if f.high is not None]
        high = min(highs, default=None)
        return None if high is not None and high < low else Factors(low, high)

    def __str__(self) -> str:
        """As it is written behind the name of a dimension."""
        if self.listed is not None:
            return f"={','.join(map(str, self.listed))}"
        if self.high is None:
            return f">={self.low}"
        if self.low == self.high:
            return f"={self.low}"
        return f"<={self.high}" if self.low == 1 else f"={self.low}..{self.high}"


EVERY = Factors()


@dataclass(frozen=True)
class Limit:
    """Factors allowed for a dimension in a level (`kind` "t") or on an axis below it ("x", "y")."""

    level: str
    kind: str
    dimension: str
    factors: Factors
    sources: Sources = field(default=(), compare=False)

    @property
    def key(self) -> Key:
        return (0, self.level, KINDS.index(self.kind), self.dimension)

    @property
    def heading(self) -> str:
        return f"{self.level}{_AXES.get(self.kind, '')}"

    @property
    def body(self) -> str:
        return f"{self.dimension}{self.factors}"


@dataclass(frozen=True)
class Prefix:
    """Dimensions whose loops stand outermost in a level, in this sequence, where the level has them."""

    level: str
    dimensions: tuple[str, ...]
    sources: Sources = field(default=(), compare=False)

    @property
    def key(self) -> Key:
        return (0, self.level, len(KINDS), "")

    @property
    def heading(self) -> str:
        return f"{self.level} order"

    @property
    def body(self) -> str:
        return " ".join(self.dimensions)


@dataclass(frozen=True)
class Residence:
    """Whether a level keeps a tensor (a role, or else a name) or lets it bypass."""

    level: str
    tensor: str
    kept: bool
    sources: Sources = field(default=(), compare=False)

    @property
    def key(self) -> Key:
        return (0, self.level, len(KINDS) + 1, self.tensor)

    @property
    def heading(self) -> str:
        return f"{self.level} {'keeps' if self.kept else 'bypasses'}"

    @property
    def body(self) -> str:
        return self.tensor

    def means(self, tensor: Tensor) -> bool:
        """Whether this is about `tensor`."""
        return self.tensor == (tensor.role if self.tensor in ROLES else tensor.name)


@dataclass(frozen=True)
class Utilization:
    """The least utilization of a mapping, from 0 to 1: multiply-accumulates over cycles times compute units."""

    share: float
    sources: Sources = field(default=(), compare=False)

    @property
    def key(self) -> Key:
        return (1, "", 0, "")

    @property
    def heading(self) -> str:
        return "min_utilization"

    @property
    def body(self) -> str:
        return repr(self.share)


Rule = Limit | Prefix | Residence | Utilization


def stated(rule: Rule) -> str:
    """A rule by itself, as it could be written: `GLB X: K=16`."""
    return f"{rule.heading}: {rule.body}"


def cited(rule: Rule) -> str:
    """A rule and where it was written: `GLB X: K=16 (file.yaml:3)`."""
    return f"{stated(rule)} ({where(rule)})" if rule.sources else stated(rule)


def where(*rules: Rule) -> str | None:
    """Where the rules were written, None where nobody said."""
    return " and ".join(dict.fromkeys(source for rule in rules for source in rule.sources)) or None


@dataclass(frozen=True)
class Constraints:
    """All constraints of a search, in one canonical order; those about the same thing are merged.

    Raises `InputError` where two contradict. Whether they suit an accelerator and the einsums is asked elsewhere:
    see `constraint_checks`.
    """

    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", _gathered(self.rules))

    def __add__(self, other: Constraints) -> Constraints:
        """Both together."""
        return Constraints(self.rules + other.rules)

    @property
    def is_empty(self) -> bool:
        return not self.rules

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, Limit))

    @cached_property
    def residences(self) -> tuple[Residence, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, Residence))

    @cached_property
    def min_utilization(self) -> float | None:
        """The least utilization asked for."""
        return next((rule.share for rule in self.rules if isinstance(rule, Utilization)), None)

    @cached_property
    def _factors(self) -> dict[tuple[str, str, str], Factors]:
        return {(limit.level, limit.kind, limit.dimension): limit.factors for limit in self.limits}

    @cached_property
    def _prefixes(self) -> dict[str, tuple[str, ...]]:
        return {rule.level: rule.dimensions for rule in self.rules if isinstance(rule, Prefix)}

    def allowed(self, level: str, kind: str, dimension: str) -> Factors:
        """Factors that `dimension` may have in that place."""
        return self._factors.get((level, kind, dimension), EVERY)

    def prefix(self, level: str) -> tuple[str, ...]:
        """Dimensions that stand outermost in `level`, in this sequence, where they loop there."""
        return self._prefixes.get(level, ())

    def keeps(self, level: str, tensor: Tensor) -> bool | None:
        """Whether `level` must keep `tensor` (True) or let it bypass (False); None where nothing is asked."""
        found = (rule.kept for rule in self.residences if rule.level == level and rule.means(tensor))
        return next(found, None)

    def chain_mask(
        self, level_names: Sequence[str], dimension: str, places: Sequence[tuple[int, str]], rows: Ints
    ) -> Bools:
        """Which chains of `dimension` are allowed: `rows` has one per row, a column per place (level, kind).

        A place that the dimension does not have counts as a factor of 1.
        """
        columns = {(level_names[index], kind): column for column, (index, kind) in enumerate(places)}
        mask = np.ones(len(rows), dtype=np.bool_)
        for limit in self.limits:
            if limit.dimension == dimension:
                column = columns.get((limit.level, limit.kind))
                mask &= (1 in limit.factors) if column is None else limit.factors.mask(rows[:, column])
        return mask

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The constraints as text, one line per heading: equal constraints have equal lines, and the lines give them
        back."""
        bodies: dict[str, list[str]] = {}
        for rule in self.rules:
            bodies.setdefault(rule.heading, []).append(rule.body)
        return tuple(f"{heading}: {' '.join(body)}" for heading, body in bodies.items())

    def __str__(self) -> str:
        return " | ".join(self.lines)


def _gathered(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """One rule per key, in canonical order."""
    merged: dict[Key, Rule] = {}
    given: dict[Key, list[Rule]] = {}
    for rule in rules:
        earlier = given.setdefault(rule.key, [])
        together = _both(merged[rule.key], rule) if earlier else rule
        if together is None:
            raise _contradiction(rule, earlier)
        merged[rule.key] = together
        earlier.append(rule)
    return tuple(merged[key] for key in sorted(merged))


def _both(one: Rule, other: Rule) -> Rule | None:
    """The rule that says what two rules of one key say, None where they contradict."""
    sources = tuple(dict.fromkeys(one.sources + other.sources))
    if isinstance(one, Limit) and isinstance(other, Limit):
        factors = one.factors & other.factors
        return None if factors is None else Limit(one.level, one.kind, one.dimension, factors, sources)
    if isinstance(one, Prefix) and isinstance(other, Prefix):
        short, long = sorted((one.dimensions, other.dimensions), key=len)
        return Prefix(one.level, long, sources) if long[: len(short)] == short else None
    if isinstance(one, Residence) and isinstance(other, Residence):
        return Residence(one.level, one.tensor, one.kept, sources) if one.kept == other.kept else None
    if isinstance(one, Utilization) and isinstance(other, Utilization):
        return Utilization(one.share, sources) if one.share == other.share else None
    return None


def _contradiction(rule: Rule, earlier: list[Rule]) -> InputError:
    """Names the first rule that `rule` contradicts, or all where only together they leave nothing."""
    culprits = [other for other in earlier if _both(other, rule) is None][:1] or earlier
    shown = [stated(other) if other.sources == rule.sources else cited(other) for other in culprits]
    return InputError(f"{stated(rule)} contradicts {' and '.join(shown)}", where(rule))


UNCONSTRAINED = Constraints()
