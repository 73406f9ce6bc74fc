"""Which loop makes a tensor move more often than its distinct words need: one exact factor per temporal loop.

Take the temporal loops above a level, 1 outermost to m. Let F(j) be the words that enter the level if whatever it
holds is forgotten each time a loop outside j advances, and D(j) the words it would then need if it could hold all
that loops j..m touch. At j = m + 1 every step starts anew, so F = D. Going outward, loop j could save the factor
D(j+1) / D(j), and does save F(j+1) / F(j). The quotient of the two,

    times(j) = D(j+1) * F(j) / (D(j) * F(j+1)) >= 1,

is what loop j causes, and their product is F(1) / D(1): words moved over distinct words. A loop that does not index
the tensor causes its whole bound where a loop inside it moves the tile, and nothing where none does; one that slides
causes the overlap of neighbouring windows that were not held in between.

Both are counts of `entering` on the same nest with loops read differently: outside j as separate children (each
begins with nothing), j and inside it as children that share (D) or as loops (F).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from mapper.counts.entering import Mode, entering
from mapper.counts.geometry import Geometry
from mapper.counts.traffic import Sharing, modes
from mapper.mapping.loopnest import Nests
from mapper.workload.einsum import Tensor


@dataclass(frozen=True)
class Cause:
    """How many times over the temporal loop `slot` makes the words move; 1 where it wastes nothing."""

    slot: int
    times: Fraction


@dataclass(frozen=True)
class Moves:
    """Words of one tensor between two levels: `words` move, `distinct` would if each moved once.

    For an operand `words` are those that the upper level sends, padding included, for the accumulated tensor the
    updates written there.
    """

    words: int
    distinct: int
    causes: tuple[Cause, ...]

    @property
    def times(self) -> Fraction:
        """How often each word moves on average."""
        return Fraction(self.words, self.distinct)


def moves(nests: Nests, tensor: Tensor, parent: int, level: int, sharing: Sharing) -> Moves:
    """The first mapping of `nests`: `tensor` between two neighbouring levels of those that keep it.

    `sharing` is that of the accelerator; partial sums of several children always unite.
    """
    if tensor == nests.einsum.output:
        sharing = Sharing.everywhere(nests.level_count)
    nests = nests.take(slice(0, 1))
    loops = Geometry(nests).temporal_above(level)
    count = _counter(nests, tensor, parent, level, sharing)
    inner = count(loops, [])
    held = needed = inner
    causes = []
    for place in reversed(range(len(loops))):
        outer_held, outer_needed = held, needed
        held, needed = count(loops[:place], []), count(loops[:place], loops[place:])
        causes.append(Cause(loops[place], Fraction(outer_needed * held, needed * outer_held)))
    return Moves(held, needed, tuple(reversed(causes)))


def _counter(
    nests: Nests, tensor: Tensor, parent: int, level: int, sharing: Sharing
) -> Callable[[list[int], list[int]], int]:
    """Counts of words that enter `level` where some loops are read as children, `apart` or `together`."""
    spatial: Literal["x"] = "x"

    def count(apart: list[int], together: list[int]) -> int:
        chosen = dict.fromkeys(apart, Mode.SEPARATE) | dict.fromkeys(together, Mode.UNION)
        slots = tuple(replace(s, kind=spatial) if i in chosen else s for i, s in enumerate(nests.slots))
        usual = modes(nests, level, parent, sharing)
        picked = tuple(chosen.get(i, mode) for i, mode in enumerate(usual))
        return int(entering(Geometry(replace(nests, slots=slots)), tensor, level, picked)[0])

    return count
