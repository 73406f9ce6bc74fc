"""Which mapping is best: the mapspace and its search. `mapper.search(layer, arch, ...)` calls `run.search`."""

from mapper.lazy import callable_package

callable_package(__name__, "mapper.search.run", "search")
