"""Searches from Python: small rankings by hand-made machines are those of an enumeration, and say what they are."""

from __future__ import annotations

import pytest

from mapper.arch import Accelerator
from mapper.mapping import parse_partitioning
from mapper.search.pool import METRICS
from mapper.search.rows import METRIC_COLUMNS
from mapper.search.run import search
from mapper.search.solve import ASKED, Problem
from mapper.search.space import Mapspace
from mapper.workload import Conv2d, Einsum, Linear
from tests.machines import array, level, machine
from tests.search import exhaustive

TWO = machine(level("DRAM", pj=100.0, shared=2.0), level("BUF", words=9))
ROW = machine(level("DRAM", pj=100.0, shared=1.0, x=4), level("BUF", words=6))
BYPASS = machine(level("DRAM", pj=90.0), level("GLB", 7, may_keep="WO", x=2, pj=5.0), level("RF", 4, may_keep="I"))
GRID = machine(level("DRAM", pj=50.0, read=3.0, x=2, y=3), level("BUF", words=7, double=True))

PROBLEMS: list[tuple[str, Accelerator, str]] = [
    ("Z[M,N] += A[M,K] * B[K,N]; M=4 N=2 K=3", TWO, "any"),
    ("Z[M,N] += A[M,K] * B[K,N]; M=3 N=2 K=2", ROW, "any"),
    ("O[K,P] += W[K,R] * I[P+R]; K=2 P=4 R=3", ROW, "PK"),
    ("O[K,P] += W[K,R] * I[2*P+R]; K=2 P=3 R=2", TWO, "any"),
    ("Z[M,N] += A[M,K] * B[K,N]; M=2 N=2 K=1", BYPASS, "MN"),
    ("Z[M] += A[M,K] * B[K]; M=7 K=2", GRID, "MM"),
    ("Z[M] += A[M] * B[M]; M=12", GRID, "any"),
    ("Z[M,N] += A[M,K] * B[K,N]; M=1 N=1 K=1", GRID, "any"),
    ("Z[M,N] += A[M,K] * B[K,N]; M=4 N=2 K=3", machine(level("DRAM", pj=100.0, x=3)), "any"),
]


@pytest.mark.parametrize("metric", ASKED)
@pytest.mark.parametrize(("text", "arch", "partitioning"), PROBLEMS)
def test_the_top_of_a_small_mapspace_is_what_an_enumeration_ranks(
    text: str, arch: Accelerator, partitioning: str, metric: str
) -> None:
    einsum, top = Einsum.parse(text), 8
    spread = parse_partitioning(partitioning, einsum.dimensions)
    expected = exhaustive.answer(Problem(einsum, arch, spread, metric, top))
    found = search(einsum, arch, partitioning=spread, metric=metric, top=top)
    assert [exhaustive.entry_of(ranked.evaluation, metric) for ranked in found] == expected
    assert [ranked.rank for ranked in found] == list(range(1, len(found) + 1))
    certificate = found.only.certificate
    assert (certificate.optimal, certificate.gap) == (True, 0.0)
    assert certificate.mapspace_size == Mapspace(einsum, arch, spread).size


def test_rank_1_is_the_same_however_many_ranks_are_asked_for() -> None:
    einsum = Einsum.parse("Z[M] += A[M] * B[M]; M=12")
    first = {str(search(einsum, GRID, partitioning="any", metric="cycles", top=top)[0].mapping) for top in (1, 2, 5)}
    assert first == {"DRAM: M2 | X: M2 | Y: M3 | BUF:"}


@pytest.mark.parametrize("metric", METRICS)
def test_a_large_mapspace_is_ranked_to_the_proof_though_few_of_its_mappings_are_costed(metric: str) -> None:
    layer = Linear(C=24, K=16, N=10)
    found = search(layer, array(4, 4, words=24, shared=4.0), partitioning="CK", metric=metric, top=5)
    certificate = found.only.certificate
    assert certificate.optimal
    assert certificate.evaluated < certificate.mapspace_size / 20
    values = [getattr(ranked.evaluation, METRIC_COLUMNS[metric]) for ranked in found]
    assert values == sorted(values)
    assert len({str(ranked.mapping) for ranked in found}) == 5
    assert all(ranked.evaluation.fits for ranked in found)
    assert all(ranked.certificate == certificate for ranked in found)


def test_the_same_search_twice_gives_the_same_texts() -> None:
    layer = Linear(C=24, K=16, N=10)
    runs = [search(layer, array(4, 4, words=24), partitioning="KN", top=5) for _ in range(2)]
    assert runs[0].to_frame().equals(runs[1].to_frame())


def test_every_part_of_a_phase_is_ranked() -> None:
    layer = Conv2d(C=2, K=2, R=3, S=1, H=4, W=1, stride=(2, 1), padding=(1, 0))
    found = search(layer, ROW, phase="bw", partitioning="CK", top=2)
    assert [part.part for part in found.parts] == ["1/2", "2/2"]
    assert found.cycles == sum(part[0].evaluation.cycles for part in found.parts)
    assert found.energy_pj == sum(part[0].evaluation.energy_pj for part in found.parts)
    assert set(found.to_frame()["part"]) == {"1/2", "2/2"}


def test_a_search_spreads_only_what_the_partitioning_names() -> None:
    layer = Linear(N=4, C=4, K=4)
    for name in ("KN", "CK", "NC"):
        found = search(layer, machine(level("DRAM", x=4, y=4), level("RF")), partitioning=name, metric="cycles", top=3)
        drams = [ranked.mapping.levels[0] for ranked in found]
        assert (drams[0].x, drams[0].y) == (((name[0], 4),), ((name[1], 4),))
        for dram in drams:
            assert {d for d, _ in dram.x} <= {name[0]}
            assert {d for d, _ in dram.y} <= {name[1]}
