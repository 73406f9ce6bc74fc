"""What it costs: cycles and energy of mappings."""

from mapper.cost.batch import Costs, Evaluations, evaluate_nests, rank_costs
from mapper.cost.given import einsum_of, evaluate
from mapper.cost.single import Evaluation, evaluate_one

__all__ = [
    "Costs",
    "Evaluation",
    "Evaluations",
    "einsum_of",
    "evaluate",
    "evaluate_nests",
    "evaluate_one",
    "rank_costs",
]
