"""What stands below each figure of a run's page; one that is not named here is called by its name."""

from __future__ import annotations

OF_RUN = {
    "energy": "Energy of each layer by component, under its best partitioning.",
    "speedup": "How many times fewer cycles and picojoules each partitioning takes than the first.",
    "utilization": "Utilization of each layer under every partitioning.",
    "roofline": "Effectual work per bit of the outermost memory against work per cycle, and the roof.",
}
OF_MAPPING = {
    "work": "Work that each PE does over this mapping: the array, and its PEs in order of their work.",
    "imbalance": "How much longer than on average the busiest PE of a working set works, in this mapping.",
}
