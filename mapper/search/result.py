"""What a search returns: mappings ranked by the metric, each with its evaluation, and an honest certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mapper.cost.single import Evaluation
from mapper.errors import InputError
from mapper.mapping.loopnest import LoopNest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Certificate:
    """What was looked at: `optimal` only where every mapping of the space was evaluated or excluded by proof.

    `mapspace_size` counts mappings (distinct texts), `evaluated` those costed, `infeasible` those of them that do
    not fit. `gap` is how much better than the best one found a mapping might still be, as a share: 0 if
    optimal. `interrupted`: by Ctrl-C.
    """

    optimal: bool
    mapspace_size: int
    evaluated: int
    infeasible: int
    gap: float = 0.0
    interrupted: bool = False

    @property
    def excluded(self) -> int:
        """Mappings that were not costed: they exceed a buffer, do the same as one that was, or are worse by a bound."""
        return self.mapspace_size - self.evaluated


@dataclass(frozen=True)
class Ranked:
    """One mapping of a ranking; `rank` counts from 1."""

    rank: int
    evaluation: Evaluation
    certificate: Certificate

    @property
    def mapping(self) -> LoopNest:
        return self.evaluation.mapping


@dataclass(frozen=True)
class Ranking(Sequence[Ranked]):
    """The best mappings of one einsum (`part` of a phase) under one partitioning, best first."""

    arch: str
    layer: str
    phase: str
    part: str
    partitioning: str
    metric: str
    ranked: tuple[Ranked, ...]
    certificate: Certificate

    def __getitem__(self, index: int) -> Ranked:  # type: ignore[override]
        return self.ranked[index]

    def __len__(self) -> int:
        return len(self.ranked)

    def to_frame(self) -> pd.DataFrame:
        """One row per rank, columns as in `mappings.csv`."""
        import pandas as pd

        from mapper.search.rows import mapping_row

        return pd.DataFrame([mapping_row(self, ranked) for ranked in self.ranked])


@dataclass(frozen=True)
class SearchResult(Sequence[Ranked]):
    """The rankings of a phase, one per part. With a single part it is itself the sequence of ranked mappings."""

    parts: tuple[Ranking, ...]

    @property
    def only(self) -> Ranking:
        """The ranking of a phase that has one part."""
        if len(self.parts) != 1:
            raise InputError(
                f"phase {self.parts[0].phase} of {self.parts[0].layer} has {len(self.parts)} parts, each ranked",
                hint="result.parts[0][0] is the best mapping of the first",
            )
        return self.parts[0]

    def __getitem__(self, index: int) -> Ranked:  # type: ignore[override]
        return self.only[index]

    def __len__(self) -> int:
        return len(self.only)

    @property
    def cycles(self) -> int:
        """Cycles of the phase: the best of each part, added."""
        return sum(part[0].evaluation.cycles for part in self.parts)

    @property
    def energy_pj(self) -> float:
        """Picojoules of the phase: the best of each part, added."""
        return sum(part[0].evaluation.energy_pj for part in self.parts)

    def to_frame(self) -> pd.DataFrame:
        """One row per part and rank, columns as in `mappings.csv`."""
        import pandas as pd

        return pd.concat([part.to_frame() for part in self.parts], ignore_index=True)
