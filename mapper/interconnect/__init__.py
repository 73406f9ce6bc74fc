"""Who talks to whom: the flows of every fan-out, what they load its network with, and a graph to look at."""
