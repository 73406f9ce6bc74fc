"""Tables of a run: names with units, sums that add up, and nothing in them that does not fit the accelerator."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any, cast

import pytest

import mapper
from mapper.report import breakdown_table, mappings_table, totals_table
from mapper.report.manifest import limits
from mapper.runs import Run, run
from mapper.search.rows import Row
from mapper.workload import Phase
from tests import tiny

PARTITIONINGS = "KN,CN"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tiny.write(folder)
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Run:
    """All phases of the tiny network under two partitionings."""
    return run(tiny.plan(folder, phases=tuple(Phase), partitionings=PARTITIONINGS))


def number(row: Row, column: str) -> Any:
    return cast(Any, row[column])


def test_every_energy_column_has_its_unit_in_its_name(found: Run) -> None:
    columns = [c for t in (mappings_table(found), breakdown_table(found), totals_table(found)) for c in t.columns]
    energies = [column for column in columns if "energy" in column]
    assert len(energies) > 10
    assert all(column.endswith("_pj") for column in energies)


def test_every_row_of_a_table_has_the_same_columns(found: Run) -> None:
    for table in (mappings_table(found), breakdown_table(found), totals_table(found)):
        assert {tuple(row) for row in table.rows} == {table.columns}, table.name


def test_a_component_that_a_mapping_leaves_out_costs_nothing(folder: Path) -> None:
    open_level = """\
  - name: GLB
    capacity_words: 64
    keep: []
    may_keep: [W]
    energy_pj_per_word: {read: 2, write: 2, source: by hand}
"""
    (folder / "open.yaml").write_text(tiny.ARCH.replace("  - name: RF", f"{open_level}  - name: RF"))
    (folder / "one.yaml").write_text("name: one\nlayers: [{name: a, linear: {C: 2, K: 2}}]\n")
    plan = tiny.plan(folder, "one", "open", partitionings="KN", top=40)
    rows = mappings_table(run(plan)).rows
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert {bool(row["energy_GLB_pj"]) for row in rows} == {True, False}


def test_energies_of_components_and_of_roles_add_up(found: Run) -> None:
    for row in mappings_table(found).rows:
        components = sum(number(row, f"energy_{name}_pj") for name in ("DRAM", "RF", "MAC"))
        roles = sum(number(row, f"energy_role_{role}_pj") for role in "WIO") + number(row, "energy_MAC_pj")
        assert components == pytest.approx(row["energy_pj"], rel=1e-12)
        assert roles == pytest.approx(row["energy_pj"], rel=1e-12)


def test_the_breakdown_adds_up_to_each_mapping(found: Run) -> None:
    places = ("layer", "phase", "part", "partitioning", "rank")
    sums: dict[tuple[object, ...], float] = defaultdict(float)
    for row in breakdown_table(found).rows:
        sums[tuple(row[p] for p in places)] += number(row, "energy_pj")
    mappings = mappings_table(found).rows
    assert len(sums) == len(mappings)
    for row in mappings:
        assert sums[tuple(row[p] for p in places)] == pytest.approx(row["energy_pj"], rel=1e-12)


@pytest.mark.parametrize("partitioning", ["KN", "CN"])
@pytest.mark.parametrize("phase", ["fw", "bw", "wu", "all"])
def test_totals_are_sums_over_layers_times_repeat(found: Run, phase: str, partitioning: str) -> None:
    (total,) = (r for r in totals_table(found).rows if (r["phase"], r["partitioning"]) == (phase, partitioning))
    firsts = [
        row
        for row in mappings_table(found).rows
        if row["rank"] == 1 and row["partitioning"] == partitioning and phase in ("all", row["phase"])
    ]
    assert {row["repeat"] for row in firsts} == {1, 3}
    for column in ("macs", "effectual_macs", "cycles"):
        assert total[column] == sum(number(row, "repeat") * number(row, column) for row in firsts)
    for column in ("energy_pj", "energy_DRAM_pj", "energy_RF_pj", "energy_MAC_pj"):
        assert total[column] == math.fsum(number(row, "repeat") * number(row, column) for row in firsts)
    assert total["utilization"] == number(total, "macs") / (number(total, "cycles") * 4)
    assert total["edp_pj_cycles"] == number(total, "energy_pj") * number(total, "cycles")
    assert (total["layers"], total["layers_without_mapping"]) == (2 if phase == "bw" else 3, 0)


def test_best_takes_the_best_partitioning_of_each_layer(found: Run) -> None:
    (best,) = (r for r in totals_table(found).rows if (r["phase"], r["partitioning"]) == ("all", "best"))
    cheapest: dict[tuple[object, ...], Row] = {}
    for row in mappings_table(found).rows:
        place = (row["layer"], row["phase"], row["part"])
        cheapest[place] = min(cheapest.get(place, row), row, key=lambda r: number(r, "edp_pj_cycles"))
    assert {row["partitioning"] for row in cheapest.values()} == {"KN", "CN"}
    assert best["energy_pj"] == math.fsum(number(r, "repeat") * number(r, "energy_pj") for r in cheapest.values())


def test_parts_of_a_strided_gradient_are_ranked_each_and_added(folder: Path) -> None:
    network = "name: s\nlayers: [{name: a, conv: {C: 1, K: 2, R: 2, S: 1, H: 4, W: 1, stride: 2}}]\n"
    (folder / "strided.yaml").write_text(network)
    found = run(tiny.plan(folder, "strided", phases=(Phase.wu,), partitionings="KN", top=1))
    rows = mappings_table(found).rows
    assert len(rows) > 1
    assert [row["part"] for row in rows] == [f"{i}/{len(rows)}" for i in range(1, len(rows) + 1)]
    assert totals_table(found).rows[0]["cycles"] == sum(number(row, "cycles") for row in rows)


def test_a_mapping_over_capacity_is_never_ranked_and_the_limits_are_told(folder: Path) -> None:
    plan = tiny.plan(folder, partitionings=PARTITIONINGS, top=1000)
    rows = mappings_table(run(plan)).rows
    layers = {layer.name: layer for layer in plan.network}
    assert len(rows) > 20
    for row in rows:
        again = mapper.evaluate(layers[str(row["layer"])], plan.accelerator, str(row["mapping"]))
        assert again.fits, row["mapping"]
    over = mapper.evaluate(layers["first"], plan.accelerator, "DRAM: | RF: N2 K2 C4")
    assert not over.fits
    assert str(over.mapping) not in {row["mapping"] for row in rows}
    told = cast(Any, limits(plan.accelerator))["levels"]
    assert [buffer["capacity_bits"] for level in told for buffer in level["buffers"]] == [None, 8 * 16]
    assert [told[0]["fanout"][axis]["lanes"] for axis in "xy"] == [2, 2]
    assert told[1]["buffers"][0]["source"] == "by hand"
