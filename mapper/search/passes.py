"""What the loops of one level can do for the words below them, as cases that a bound can be put on: `passes_of`.

The innermost loop of a level decides which tensors stay put there. A *pass* is such a case: it says of every tensor
what happens to its words on their way below the level (`Effect`), and what that asks of the level's loops. Together
the passes of a level cover all its orders. Each bound is at most the cost of every order that its pass covers;
mappings are costed by the model itself.

Where a tensor slides, the next loop outside its head decides what can have stayed when the head wraps back: a pass has
`cases`, one for each such loop, which together cover what it covers and bound it from closer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mapper.workload.einsum import Tensor

Dimensions = frozenset[str]
NONE: Dimensions = frozenset()


@dataclass(frozen=True)
class Effect:
    """What happens to one tensor.

    * `moved`: a loop that moves it to other words is innermost; every step counts.
    * `reused`: the loops that leave it put are innermost (`counted` excepted), and others of the level move it.
    * `fixed`: nothing of it loops at this level; the loops further out decide.
    * `slid`: it slides along `head`, the innermost loop that moves it. `put`: inside of that are loops that leave it
      put. `case` (as in `Sliding`) says which other loops of the level can find words that stayed: none (`alone`),
      those of the same rank (`quiet`), others outside of these (`wrapped`), any (`loud`). With a `shared` loop of
      another rank, next outside the head, only that one can, and others only with it wrapping as well: none of them
      (`corner` is `killed`), those of the two ranks (`ranks`), or `any`. `deep`: loops further out may. `following`:
      the next loop outside the head, where it is known (empty: none).
    """

    kind: str
    head: str = ""
    put: bool = False
    case: str = ""
    deep: bool = False
    idles: Dimensions = NONE
    loops: Dimensions = NONE
    some: tuple[Dimensions, ...] = ()
    counted: Dimensions = NONE
    shared: str = ""
    corner: str = ""
    following: str | None = None

    @property
    def open(self) -> bool:
        """Whether loops further out have a say."""
        return self.kind == "fixed" or self.deep

    @property
    def essence(self) -> Effect:
        """What loops further out need to know of it."""
        return Effect(self.kind, self.head, self.put, self.case, self.deep)


@dataclass(frozen=True, eq=False)
class Pass:
    """A case of the loops at one level: the effect on each tensor, in the einsum's order.

    `firsts`: dimensions of which one is the innermost loop; empty: no loops at all. `loops`: dimensions that must
    loop here, `idles`: those that must not; of each set of `some` one must.
    """

    firsts: Dimensions
    effects: tuple[Effect, ...]
    loops: Dimensions
    idles: Dimensions
    some: tuple[Dimensions, ...]
    cases: tuple[Pass, ...] = ()

    def covers(self, order: tuple[str, ...]) -> bool:
        """Whether this pass speaks of an order of the level's loops (outermost first)."""
        if not order or not self.firsts:
            return not order and not self.firsts
        if order[-1] not in self.firsts:
            return False
        for effect in self.effects:
            if effect.following is not None:
                if effect.head not in order:
                    return False
                outside = order[: order.index(effect.head)]
                if (outside[-1] if outside else "") != effect.following:
                    return False
        return True


@dataclass(frozen=True)
class _Kinds:
    """Dimensions as one tensor sees them: those that leave it put, move it to other words, or slide along a rank."""

    puts: Dimensions
    plain: Dimensions
    ranks: tuple[Dimensions, ...]

    @property
    def slides(self) -> Dimensions:
        return NONE.union(*self.ranks)

    def rank(self, head: str) -> Dimensions:
        return next(rank for rank in self.ranks if head in rank)


def _kinds(tensor: Tensor, looped: Dimensions) -> _Kinds:
    ranks = [frozenset(t.dimension for t in rank) & looped for rank in tensor.ranks]
    sliding = tuple(rank for rank in ranks if len(rank) > 1)
    return _Kinds(looped - tensor.dimensions, (looped & tensor.dimensions) - NONE.union(*sliding), sliding)


def passes_of(tensors: tuple[Tensor, ...], looped: tuple[str, ...], outermost: bool) -> tuple[Pass, ...]:
    """Passes of a level over `looped` dimensions."""
    kinds = [_kinds(tensor, frozenset(looped)) for tensor in tensors]
    merged: dict[tuple[Effect, ...], Dimensions] = {}
    for first in looped:
        for effects in itertools.product(*(_effects(kind, first, outermost) for kind in kinds)):
            merged[effects] = merged.get(effects, NONE) | {first}
    out = []
    for effects, firsts in merged.items():
        cases = [_pass(firsts, case) for case in _cases(kinds, effects, outermost)]
        made = _pass(firsts, effects)
        if _possible(made):
            out.append(replace(made, cases=tuple(case for case in cases if _possible(case))))
    none = Pass(NONE, (Effect("fixed"),) * len(tensors), NONE, frozenset(looped), ())
    return (*out, replace(none, cases=(none,)))


def _possible(made: Pass) -> bool:
    return not made.loops & made.idles and all(some - made.idles for some in made.some)


def _pass(firsts: Dimensions, effects: tuple[Effect, ...]) -> Pass:
    loops = NONE.union(*(e.loops for e in effects))
    idles = NONE.union(*(e.idles for e in effects))
    some = {s for e in effects for s in e.some} | {firsts}
    if len(firsts) == 1:
        loops |= firsts
    some = {s for s in some if not s & loops}
    return Pass(firsts, effects, loops, idles, tuple(sorted(some, key=sorted)))


def _effects(kind: _Kinds, first: str, outermost: bool) -> list[Effect]:
    """What may happen to a tensor where `first` is the innermost loop."""
    if first in kind.plain:
        return [Effect("moved")]
    mine = kind.plain | kind.slides
    if not mine:
        return [Effect("fixed")]
    put, out = first in kind.puts, []
    if put:
        out.append(Effect("reused"))
        if not outermost:
            out.append(Effect("fixed", idles=mine))
    heads = sorted(kind.slides) if put else [first]
    return out + [Effect("slid", head, put, "loud", not outermost, loops=frozenset({head})) for head in heads]


def _cases(kinds: list[_Kinds], effects: tuple[Effect, ...], outermost: bool) -> Iterator[tuple[Effect, ...]]:
    """The same effects by the next loop outside the head of the first tensor that slides."""
    at = next((i for i, effect in enumerate(effects) if effect.kind == "slid"), None)
    if at is None:
        yield effects
        return
    kind, coarse = kinds[at], effects[at]
    for following, slid in _followed(kind, coarse, outermost):
        slid = replace(slid, following=following)
        choices = [
            _beside(kind, kinds[i].puts - {coarse.head}, following, slid) if e.kind == "reused" else [(slid, e)]
            for i, e in enumerate(effects)
        ]
        for chosen in itertools.product(*choices):
            # Where two reused tensors ask different things of the sliding one, the one that allows more holds.
            mine = max((c[0] for i, c in enumerate(chosen) if effects[i].kind == "reused"), key=_room, default=slid)
            yield tuple(mine if i == at else c[1] for i, c in enumerate(chosen))


def _room(effect: Effect) -> tuple[bool, int]:
    return effect.corner != "killed", -len(effect.some)


def _followed(kind: _Kinds, coarse: Effect, outermost: bool) -> Iterator[tuple[str, Effect]]:
    """(next loop outside the head, effect); no next loop: an empty name."""
    head = frozenset({coarse.head})
    rank = kind.rank(coarse.head)
    irrelevant = NONE if coarse.put else kind.puts
    beside, same = kind.slides - rank, rank - head
    others = beside | irrelevant
    base = replace(coarse, deep=False, case="alone")
    for d in sorted(kind.plain):
        yield d, replace(base, loops=head | {d})
    found = []
    for d in sorted(beside):
        far = irrelevant | (beside - kind.rank(d))
        shared = replace(base, case="loud", shared=d, loops=head | {d})
        found.append((d, replace(shared, corner="ranks", idles=far)))
        if far:
            found.append((d, replace(shared, corner="any", some=(far,))))
    found += [(d, replace(base, case="loud", loops=head | {d})) for d in sorted(irrelevant)]
    for d in sorted(same):
        found.append((d, replace(base, case="quiet", loops=head | {d}, idles=others)))
        if others:
            found.append((d, replace(base, case="wrapped", loops=head | {d}, some=(others,))))
    for d, effect in found:
        if outermost:
            yield d, effect
            continue
        if kind.plain:
            yield d, replace(effect, some=(*effect.some, kind.plain))
        yield d, replace(effect, deep=True, idles=effect.idles | kind.plain)
    yield "", replace(base, deep=not outermost, loops=head, idles=others | same | kind.plain)


def _beside(kind: _Kinds, puts: Dimensions, following: str, slid: Effect) -> list[tuple[Effect, Effect]]:
    """(sliding tensor, reused tensor) where the latter is left put by `puts`, the head apart.

    If the next loop moves the reused tensor, only the head reuses it. If it is one of those that leave it put, so may
    be the loops outside that: either none of them moves the sliding tensor to other words, or all loops outside come
    with that one wrapping.
    """
    reused = Effect("reused")
    if following and following not in puts:
        return [(slid, replace(reused, counted=puts))]
    killers = puts & kind.plain
    if not slid.shared or not killers:
        return [(slid, reused)]
    between = (puts - killers - {slid.shared}) & (kind.puts | kind.slides)
    return [
        (slid, replace(reused, counted=killers)),
        (replace(slid, corner=slid.corner if between else "killed", some=(*slid.some, killers)), reused),
    ]
