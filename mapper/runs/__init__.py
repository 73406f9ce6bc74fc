"""Many searches: what a network asks for, each problem solved once, on one process or several."""

from mapper.runs.network import Plan, Run, Task, partitionings, run
from mapper.runs.solving import Stop, WorkersLostError
from mapper.runs.store import Store

__all__ = ["Plan", "Run", "Stop", "Store", "Task", "WorkersLostError", "partitionings", "run"]
