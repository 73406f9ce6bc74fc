"""What it costs: cycles and energy of mappings."""

from mapper.cost.batch import Costs, Evaluations, evaluate_nests, rank_costs
from mapper.cost.given import evaluate, evaluate_part, part_of
from mapper.cost.single import Evaluation, evaluate_one

__all__ = [
    "Costs",
    "Evaluation",
    "Evaluations",
    "evaluate",
    "evaluate_nests",
    "evaluate_one",
    "evaluate_part",
    "part_of",
    "rank_costs",
]
