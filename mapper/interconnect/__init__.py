"""Who talks to whom: the flows of every fan-out, what they load its network with, and a graph to look at.

`mapper.interconnect(mapping)` calls `mapper.report.network_view.interconnect_graph`.
"""

from mapper.lazy import callable_package

callable_package(__name__, "mapper.report.network_view", "interconnect_graph")
