"""How the work is laid out: partitionings, loop nests and their notation."""

from mapper.mapping.binding import bind
from mapper.mapping.loopnest import LevelLoops, LoopNest, Nests, Slot
from mapper.mapping.notation import format_loop, format_nest, nest_from_yaml, nest_to_yaml, parse_nest
from mapper.mapping.partitioning import Partitioning, parse_partitioning, parse_partitionings, spread

__all__ = [
    "LevelLoops",
    "LoopNest",
    "Nests",
    "Partitioning",
    "Slot",
    "bind",
    "format_loop",
    "format_nest",
    "nest_from_yaml",
    "nest_to_yaml",
    "parse_nest",
    "parse_partitioning",
    "parse_partitionings",
    "spread",
]
