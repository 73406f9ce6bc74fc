"""Where no mapping fits: reasons, nearest miss and smallest change are what walking every mapping says."""

from __future__ import annotations

import itertools
import math
import pickle
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from mapper.arch import Accelerator, Unit, load_arch
from mapper.arch.memory import exact
from mapper.cost.batch import kept_tiles, tensor_bits
from mapper.cost.precision import Precision
from mapper.counts.geometry import Geometry
from mapper.errors import InfeasibleError
from mapper.mapping import Partitioning, bind, parse_nest, parse_partitioning
from mapper.mapping.loopnest import Ints, Nests, Slot
from mapper.search import tilings
from mapper.search.constraint_text import parse_constraints
from mapper.search.nofit import NoFit, Resize, diagnose, place, resized
from mapper.search.run import search
from mapper.search.space import Mapspace
from mapper.workload import Einsum, load_network
from tests.machines import WORD, beside, buffer, level, machine
from tests.search import brute

GEMM = "Z[M,N] += A[M,K] * B[K,N]; "
CONV = "O[K,P] += W[K,C,R] * I[C,P+R]; "
GAPS = "O[K,P] += W[K,R] * I[3*P+R]; "


def widths(arch: Accelerator, W: int = WORD, I: int = WORD, O: int = WORD, sums: int = WORD) -> Accelerator:  # noqa: E741
    """The machine with other bits per word."""
    return replace(arch, bits=(("W", W), ("I", I), ("O", O), ("partial_sum", sums)))


TWO = machine(level("DRAM"), level("BUF", words=2))
ROW = machine(level("DRAM", x=4), level("BUF", words=1))
TIGHT = machine(level("DRAM"), level("GLB", words=1, x=2, y=2), level("RF", words=2))
DOUBLE = machine(level("DRAM"), level("GLB", words=9), level("RF", words=5, double=True))
OPEN = machine(level("DRAM"), level("GLB", words=1, may_keep="WIO"), level("RF", words=1, may_keep="W"))
ASIDE = machine(
    level("DRAM"),
    beside("GLB", buffer("WI", "WI", words=1), buffer("Sums", "O", words=3), x=2),
    beside("RF", buffer("A", "W", words=1), buffer("B", "I", words=2), buffer("C", "O", words=0)),
)
OUTER = machine(level("DRAM", words=10), level("BUF"))
WIDE = widths(machine(level("DRAM"), level("GLB", words=2), level("RF", words=3)), O=8, sums=32)
FINISHED = widths(
    machine(level("DRAM"), beside("GLB", buffer("WI", "WI", words=3), buffer("Z", "O", words=0)), level("RF")),
    O=8,
    sums=24,
)
NARROW = widths(machine(level("DRAM"), level("GLB", words=2), level("RF", words=2)), O=32, sums=4)
LAST = widths(machine(level("DRAM"), level("GLB", words=1), level("RF", words=1, may_keep="O")), O=8, sums=40)
GRID = machine(level("DRAM"), level("GLB", words=2, x=4, y=2), level("RF"))

PROBLEMS: list[tuple[str, Accelerator, str]] = [
    (GEMM + "M=4 N=2 K=3", TWO, "any"),
    (GEMM + "M=3 N=2 K=2", ROW, "M/"),
    (GEMM + "M=4 N=2 K=2", TIGHT, "MN"),
    (GEMM + "M=5 N=1 K=2", TIGHT, "any"),
    (GEMM + "M=4 N=2 K=3", DOUBLE, "any"),
    (GEMM + "M=2 N=2 K=2", OPEN, "any"),
    (GEMM + "M=2 N=3 K=2", ASIDE, "M/"),
    (GEMM + "M=2 N=2 K=2", OUTER, "any"),
    (GEMM + "M=2 N=2 K=4", WIDE, "any"),
    (GEMM + "M=2 N=2 K=4", FINISHED, "any"),
    (GEMM + "M=2 N=2 K=4", NARROW, "any"),
    (GEMM + "M=2 N=2 K=2", LAST, "any"),
    (CONV + "K=2 C=1 P=4 R=3", TWO, "any"),
    (CONV + "K=2 C=2 P=2 R=2", WIDE, "any"),
    (GAPS + "K=2 P=3 R=2", DOUBLE, "any"),
    (GEMM + "M=6 N=3 K=2", GRID, "any"),
    (GEMM + "M=1 N=1 K=1", TWO, "any"),
    ("Z[M] += A[M] * B[M]; M=6", TWO, "any"),
    ("Z[] += A[K] * B[K]; K=6", WIDE, "any"),
]


@dataclass(frozen=True)
class Walked:
    """A mapspace tiling by tiling: the lanes of each, and its bits in every limited buffer."""

    einsum: Einsum
    arch: Accelerator
    partitioning: Partitioning

    @cached_property
    def limits(self) -> dict[str, int]:
        return {b.name: b.capacity_bits for lv in self.arch.levels for b in lv.buffers if b.capacity_bits is not None}

    @cached_property
    def chosen(self) -> list[dict[str, brute.Chain]]:
        """Every combination of chains."""
        looped = [d for d in self.einsum.dimensions if self.einsum.extent[d] > 1]
        chains = [list(brute.chains(d, self.einsum, self.arch, self.partitioning)) for d in looped]
        return [dict(zip(looped, combination, strict=True)) for combination in itertools.product(*chains)]

    @cached_property
    def needs(self) -> list[tuple[bool, dict[str, int]]]:
        """Of every tiling whether the axes are wide enough, and its bits."""
        legal = [brute.lanes_fit(chosen, self.arch) for chosen in self.chosen]
        places = sorted({(*place, d) for chosen in self.chosen for d, chain in chosen.items() for place in chain})
        slots = tuple(Slot(*place) for place in places)
        factors = [[chosen[s.dimension][s.level, s.kind] for s in slots] for chosen in self.chosen]
        rows = np.array(factors, dtype=np.int64).reshape(len(self.chosen), len(slots))
        found: list[tuple[bool, dict[str, int]]] = []
        for stated in brute.keeps(self.einsum, self.arch):
            keeps = tuple(self.arch.kept(index, self.einsum, names) for index, names in enumerate(stated))
            bits = bits_of(Nests(self.einsum, slots, rows, keeps), self.arch)
            found += [(legal[i], {name: int(each[i]) for name, each in bits.items()}) for i in range(len(rows))]
        return found

    @property
    def beyond(self) -> Counter[str]:
        """How many tilings each buffer excludes."""
        limits = self.limits
        return Counter(name for _, bits in self.needs for name, limit in limits.items() if bits[name] > limit)

    @property
    def excesses(self) -> list[dict[str, int]]:
        """Bits beyond each buffer that is exceeded, of every tiling that the axes are wide enough for."""
        limits = self.limits
        return [{n: bits[n] - c for n, c in limits.items() if bits[n] > c} for legal, bits in self.needs if legal]

    def fits(self, arch: Accelerator) -> bool:
        """Whether a tiling fits `arch`, which differs in its capacities alone."""
        limits = Walked(self.einsum, arch, self.partitioning).limits
        return any(legal and all(bits[name] <= limit for name, limit in limits.items()) for legal, bits in self.needs)


def bits_of(nests: Nests, arch: Accelerator) -> dict[str, Ints]:
    """Bits that the mappings of `nests` take of every buffer."""
    geometry = Geometry(nests)
    out = {memory.name: geometry.ones * 0 for each in arch.levels for memory in each.buffers}
    for (index, name), bits in tensor_bits(Precision(geometry, arch), kept_tiles(geometry)).items():
        out[arch.levels[index].buffer(nests.einsum.tensor(name)).name] += bits
    return out


def bits_of_text(text: str, walked: Walked) -> dict[str, int]:
    """Bits that a mapping takes of every buffer."""
    bits = bits_of(bind(parse_nest(text), walked.einsum, walked.arch), walked.arch)
    return {name: int(each[0]) for name, each in bits.items()}


def space(text: str, arch: Accelerator, partitioning: str) -> Mapspace:
    einsum = Einsum.parse(text)
    return Mapspace(einsum, arch, parse_partitioning(partitioning, einsum.dimensions))


def check(found: NoFit, walked: Walked) -> None:
    """Everything that a diagnosis says, against every tiling."""
    arch, names = walked.arch, {place(lv, b): b.name for lv in walked.arch.levels for b in lv.buffers}
    assert not walked.fits(arch)
    assert found.tilings == len(walked.needs)
    assert all(reason.exact for reason in found.reasons)
    counts = {names[reason.where]: reason.tilings for reason in found.reasons if reason.where in names}
    assert counts == walked.beyond
    beyond_lanes = sum(not legal for legal, _ in walked.needs)
    assert max([r.tilings for r in found.reasons if r.where not in names], default=0) <= beyond_lanes

    assert found.nearest is not None
    shares = [sum(bits / max(walked.limits[name], 1) for name, bits in each.items()) for each in walked.excesses]
    assert sum(b / max(walked.limits[n], 1) for n, b in excess_of(found, walked).items()) == pytest.approx(min(shares))

    larger = resized(arch, found.change)
    assert walked.fits(larger)
    for resize in found.change:
        less = replace(resize, after=resize.after - resize.unit.bits)
        assert not walked.fits(resized(larger, [less]))
    added = sum(resize.after - resize.before for resize in found.change)
    assert (len(found.change), added) == min((len(each), sum(each.values())) for each in walked.excesses)
    assert found.changed is not None
    bits = bits_of_text(str(found.changed.mapping), walked)
    assert all(bits[name] <= limit for name, limit in Walked(walked.einsum, larger, walked.partitioning).limits.items())


def excess_of(found: NoFit, walked: Walked) -> dict[str, int]:
    """What the nearest miss exceeds, by its text."""
    assert found.nearest is not None
    bits = bits_of_text(str(found.nearest.mapping), walked)
    assert {o.buffer: o.bits for o in found.nearest.occupancy} == bits
    return {name: bits[name] - limit for name, limit in walked.limits.items() if bits[name] > limit}


@pytest.mark.parametrize(("text", "arch", "partitioning"), PROBLEMS)
def test_a_diagnosis_says_what_walking_every_tiling_says(text: str, arch: Accelerator, partitioning: str) -> None:
    where = space(text, arch, partitioning)
    check(diagnose(where), Walked(where.einsum, arch, where.partitioning))


def test_a_diagnosis_of_random_machines_says_what_walking_every_tiling_says() -> None:
    drawn, failing = random.Random(7), 0
    while failing < 80:
        text, arch, partitioning = random_problem(drawn)
        where = space(text, arch, partitioning)
        walked = Walked(where.einsum, arch, where.partitioning)
        if not walked.fits(arch):
            failing += 1
            check(diagnose(where), walked)


def random_problem(drawn: random.Random) -> tuple[str, Accelerator, str]:
    """A problem of few tilings on a machine that is likely to be too small."""
    formula, dimensions = drawn.choice([(GEMM, "MNK"), (CONV, "KCPR"), (GAPS, "KPR")])
    bounds = " ".join(f"{d}={drawn.choice((1, 2, 2, 3, 4))}" for d in dimensions)
    levels = [level("L0", drawn.choice((None, None, None, 3)))]
    for number in range(1, drawn.choice((2, 3))):
        lanes = [drawn.choice((1, 1, 1, 2, 3)) for _ in "xy"]
        words, double = drawn.choice((None, 1, 2, 3, 4)), drawn.random() < 0.3
        opened = "".join(role for role in "WIO" if drawn.random() < 0.25)
        if drawn.random() < 0.25:
            sums = drawn.choice((None, 0, 1, 2))
            halves = buffer(f"A{number}", "WI", words, double=double), buffer(f"B{number}", "O", sums)
            levels.append(beside(f"L{number}", *halves, x=lanes[0], y=lanes[1]))
        else:
            levels.append(level(f"L{number}", words, *lanes, may_keep=opened, double=double))
    arch = widths(machine(*levels), *(drawn.choice((8, 16, 40)) for _ in range(4)))
    return formula + bounds, arch, drawn.choice(("any", f"{dimensions[0]}{dimensions[1]}"))


@pytest.mark.parametrize(("text", "arch", "partitioning"), [PROBLEMS[i] for i in (0, 2, 5, 9, 12)])
def test_no_text_fits_before_the_change_one_does_after_it_and_none_with_a_bit_less(
    text: str, arch: Accelerator, partitioning: str
) -> None:
    where = space(text, arch, partitioning)
    larger = resized(arch, diagnose(where).change)
    walked = Walked(where.einsum, arch, where.partitioning)
    needs = [bits_of_text(one, walked) for one in brute.texts(where.einsum, arch, where.partitioning)]

    def fitting(machine: Accelerator) -> int:
        limits = Walked(where.einsum, machine, where.partitioning).limits
        return sum(all(bits[name] <= limit for name, limit in limits.items()) for bits in needs)

    assert fitting(arch) == 0
    assert fitting(larger) > 0
    assert len(search(where.einsum, larger, partitioning=where.partitioning, top=1)) == 1
    for resize in diagnose(where).change:
        less = resized(larger, [replace(resize, after=resize.after - 1)])
        assert fitting(less) == 0
        with pytest.raises(InfeasibleError, match="no mapping fits toy"):
            search(where.einsum, less, partitioning=where.partitioning, top=1)


def test_a_level_that_holds_a_whole_reduction_needs_no_room_for_partial_sums() -> None:
    found = diagnose(space(GEMM + "M=2 N=2 K=4", FINISHED, "any"))
    # 24 bits for a partial sum of Z, or 8 for a finished one: then A and B have K whole, which takes 8 words.
    assert found.change == (Resize("GLB, Z", "Z", Unit(), 0, 24),)
    roomy = resized(FINISHED, [Resize("GLB, WI", "WI", Unit(), 48, 8 * WORD)])
    assert diagnose(space(GEMM + "M=2 N=2 K=4", roomy, "any")).change == (Resize("GLB, Z", "Z", Unit(), 0, 8),)


def test_an_axis_is_a_reason_where_dimensions_share_it() -> None:
    where = space(GEMM + "M=6 N=3 K=2", GRID, "any")
    walked = Walked(where.einsum, GRID, where.partitioning)
    for kind in "xy":
        lanes = GRID.levels[1].fanout.axis(kind).lanes
        taken = [math.prod(chain.get((1, kind), 1) for chain in chosen.values()) for chosen in walked.chosen]
        assert diagnose(where).counts[f"{kind.upper()} below GLB"] == sum(count > lanes for count in taken)


def test_constraints_that_force_tiles_are_part_of_what_is_needed() -> None:
    einsum, both = Einsum.parse(GEMM + "M=4 N=2 K=3"), parse_partitioning("any", "MNK")
    asked = parse_constraints("BUF: M=2", "BUF order: K M")
    found = diagnose(Mapspace(einsum, TWO, both, asked))
    assert (
        str(found)
        == "no mapping fits toy under BUF: M=2 | BUF order: K M (smallest change: BUF: capacity_bits 32 -> 80)"
    )
    larger = resized(TWO, found.change)
    assert len(search(einsum, larger, partitioning=both, constraints=asked, top=1)) == 1
    less = resized(larger, [replace(found.change[0], after=79)])
    with pytest.raises(InfeasibleError):
        search(einsum, less, partitioning=both, constraints=asked)


def test_constraints_that_leave_no_chain_say_so() -> None:
    einsum, both = Einsum.parse(GEMM + "M=4 N=2 K=3"), parse_partitioning("any", "MNK")
    found = diagnose(Mapspace(einsum, TWO, both, parse_constraints("BUF: M=3")))
    assert (found.tilings, found.nearest, found.change) == (0, None, ())
    assert str(found).startswith("no chain of M=4 satisfies: BUF: M=3")


def test_a_diagnosis_where_one_fits_names_it_and_changes_nothing() -> None:
    found = diagnose(space(GEMM + "M=4 N=2 K=3", machine(level("DRAM"), level("BUF", words=3)), "any"))
    assert found.nearest is not None
    assert (found.nearest.excess, found.change, str(found.nearest.mapping)) == (0, (), "DRAM: M4 N2 K3 | BUF:")
    assert str(found) == "no mapping was found for toy; its buffers hold DRAM: M4 N2 K3 | BUF:"


def test_the_error_carries_the_diagnosis_and_survives_pickling() -> None:
    with pytest.raises(InfeasibleError) as caught:
        search(Einsum.parse(GEMM + "M=4 N=2 K=3"), TWO, partitioning="any")
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error.diagnosis, NoFit)
    assert error.diagnosis == caught.value.diagnosis == diagnose(space(GEMM + "M=4 N=2 K=3", TWO, "any"))
    assert error.reasons == error.diagnosis.counts == {"BUF": error.diagnosis.tilings}
    assert str(error).endswith(": no mapping fits toy (smallest change: BUF: capacity_bits 32 -> 48)")


def test_where_the_grid_is_coarse_the_count_is_a_lower_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    where = space(CONV + "K=12 C=12 P=12 R=3", widths(GRID, O=8, sums=32), "any")
    chains, memory = tilings.every_chain(where), replace(GRID.levels[1].buffers[0], capacity_bits=40 * WORD)
    exact = tilings.beyond_buffer(where, chains, 1, memory)
    assert exact.exact
    monkeypatch.setattr(tilings, "GRID", 40)
    coarse = tilings.beyond_buffer(where, chains, 1, memory)
    assert not coarse.exact
    assert 0 < coarse.tilings < exact.tilings
    small = tilings.beyond_buffer(where, chains, 1, replace(memory, capacity_bits=1))
    assert small == tilings.Tally(tilings.count_tilings(where, chains)), "what excludes all is counted exactly even so"


def test_counts_beyond_64_bits_are_exact() -> None:
    text = "O[N,K,P,Q] += W[K,C,R,S] * I[N,C,P+R,Q+S]; N=256 K=512 C=512 P=56 Q=56 R=3 S=3"
    arch = machine(level("DRAM"), level("A", x=16, y=16), *(level(name) for name in "BCDE"), level("RF", words=1))
    where = space(text, arch, "KN")
    found = diagnose(where)
    chains = math.prod(len(where.chains(d)) for d in where.looped)
    assert chains > 2**64
    assert found.counts["RF"] == found.tilings == chains


@pytest.mark.parametrize("partitioning", ["CK", "KN", "CN", "PQ", "any"])
def test_a_layer_of_resnet18_at_batch_64_is_diagnosed_at_once(partitioning: str) -> None:
    procrustes = load_arch("procrustes")
    words = procrustes.levels[2].buffers[0].unit
    small = resized(procrustes, [Resize("RF", "RF", words, 256 * 32, 32)])
    layer = load_network("resnet18", batch=64)["layer1.0.conv1"]
    (einsum,) = layer.einsums("fw")
    spent = time.process_time()
    found = diagnose(Mapspace(einsum, small, parse_partitioning(partitioning, einsum.dimensions)))
    assert time.process_time() - spent < 1, "0.1 s on a quiet machine"
    assert found.change == (Resize("RF", "RF", words, 32, 96),)
    assert found.counts["RF"] == found.tilings
    assert 0 < found.counts["GLB"] < found.tilings


@pytest.mark.parametrize(
    ("stated", "change"),
    [
        ("capacity_words: 1", "RF: capacity_words 1 -> 4"),
        ("capacity_bits: 63", "RF: capacity_bits 63 -> 64"),
        ("capacity_bytes: 1", "RF: capacity_bytes 1 -> 8"),
        ("capacity_kib: 0.0009765625", "RF: capacity_kib 0.0009765625 -> 0.0078125"),
        ("capacity_words: 1\n    word_bits: 24", "RF: capacity_words 1 -> 3"),
    ],
)
def test_a_change_is_in_the_words_of_the_file(stated: str, change: str, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    write_arch(file, stated)
    einsum, both = Einsum.parse(GEMM + "M=4 N=2 K=3"), parse_partitioning("any", "MNK")
    found = diagnose(Mapspace(einsum, load_arch(file), both))
    assert [str(resize) for resize in found.change] == [change]
    key, after = change.split()[1], change.split()[-1]
    write_arch(file, f"{key}: {after}" + stated.partition("\n")[1] + stated.partition("\n")[2])
    assert load_arch(file) == resized(load_arch(file), found.change)
    assert len(search(einsum, load_arch(file), partitioning=both, top=1)) == 1


def write_arch(file: Path, capacity: str) -> None:
    """A machine of 16-bit words and 32-bit sums whose register file has that capacity."""
    costs = "energy_pj_per_word: {read: 1, write: 1, source: test}"
    head = "name: small\nbits: {default: 16, partial_sum: 32}\nlevels:\n"
    outer = f"  - name: DRAM\n    capacity: unlimited\n    {costs}\n"
    inner = f"  - name: RF\n    {capacity}\n    {costs}\n"
    file.write_text(f"{head}{outer}{inner}compute: {{energy_pj: 1, source: test}}\n")


@pytest.mark.parametrize("bits", [1, 8191, 8192, 10**9 + 1, 2**53 + 1, 2**61 + 12345])
def test_a_capacity_in_kib_can_be_written_into_a_file(bits: int) -> None:
    unit = Unit("capacity_kib", 8192, divisible=True)
    held = unit.hold(bits)
    assert bits <= held < bits + 8192
    if bits < 10**9:
        assert held == bits
    assert exact(float(unit.text(held))) * 8192 == held


def test_equal_buffers_in_other_units_are_equal() -> None:
    one = buffer("RF", words=4)
    assert replace(one, unit=Unit("capacity_words", WORD)) == one
