"""The three adversaries in turn: random mappings, the neighbours of the answer, annealing."""

from __future__ import annotations

import math

from adversary.annealing import WALKERS, Annealing
from adversary.moves import Moves
from adversary.neighbours import descend
from adversary.referee import Found, Referee

RANDOM, NEIGHBOURS = 0.05, 0.2
"""Shares of the time, the second at most: local search ends by itself, and annealing has the rest."""
DESCENT = 0.1
"""Share of the time for local search from the best mapping of one annealing, at most."""
FEWEST, MOST = 30, 400
"""Temperatures of an annealing: the first has the fewest, and tells how long one takes."""
NEXT = 0.45
"""Share of the time left that the next annealing takes: a long one finds more than several short ones."""


def attack(referee: Referee, seed: int, seconds: float) -> None:
    """Spend CPU seconds; what was found stands in the referee."""
    start = referee.clock()
    moves = Moves(referee.ground, seed)
    annealing = Annealing(referee, moves)
    while not referee.over() and referee.clock() < start + RANDOM * seconds:
        referee.values("random", annealing.any_structure(), moves.factors(WALKERS))
    until = referee.clock() + NEIGHBOURS * seconds
    for structure, row in referee.answers:
        descend("neighbours", Found(math.inf, structure, row), referee, moves, until)
    steps = FEWEST
    while not referee.over():
        before = referee.clock()
        best = annealing.run(steps)
        pace = (referee.clock() - before) / steps
        descend("annealing", best, referee, moves, referee.clock() + DESCENT * seconds)
        left = max(start + seconds - referee.clock(), 0.0)
        steps = min(max(int(NEXT * left / pace), FEWEST), MOST)
