"""Specs that are wrong, one by one: each is one message with file, line, component and what would be right."""

from __future__ import annotations

import pytest

from mapper.errors import InputError
from tests.arch.specs import RIGHT, Load, bent

GLB_ENERGY = "    energy_pj_per_word: {read: 6, write: 7, drain: 0, source: s}\n"
RF_SIZE = "    capacity_words: 256\n"
RF_ENERGY = "    energy_pj_per_word: {read: 1, write: 1, source: s}\n"
COMPUTE = "compute: {energy_pj: 1, source: s}"
GLB_BANDWIDTH = "    bandwidth_words_per_cycle: {read: 16, write: 8}\n"
SPADS = """\
    buffers:
      - {name: w_spad, tensors: [W], capacity_words: 8, energy_pj_per_word: {read: 1, write: 1, source: s}}
      - {name: io_spad, tensors: [I, O], capacity_words: 8, energy_pj_per_word: {read: 1, write: 1, source: s}}
"""

NETWORK = """\
    fanout:
      x: 14
      y: 12
      network:
        topology: mesh
        tile_mm: 1
        wire_pj_per_bit_mm: 1
        switch_pj_per_bit: 1
        link_bits_per_cycle: 8
        source: s
"""


def refusal(load: Load, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load(text)
    return str(caught.value)


def check(load: Load, edits: tuple[tuple[str, str], ...], message: str) -> None:
    """The bent spec is refused with this message, which starts at the line."""
    assert refusal(load, bent(*edits)) == f"a.yaml:{message}"


ONE_OF_CAPACITIES = "one of capacity, capacity_kib, capacity_bytes, capacity_bits, capacity_words"
ENERGY_HINT = "energy_pj_per_word: {read: ..., write: ..., source: ...}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("capacity_kib", "Capacity_KiB", "9: levels.GLB.Capacity_KiB: unknown key (did you mean 'capacity_kib'?)"),
        ("{x: 14", "{X: 14", "12: levels.GLB.fanout.X: unknown key (did you mean 'x'?)"),
        ("bits:", "bit:", "3: bit: unknown key (did you mean 'bits'?)"),
        ("{read: 16", "{raed: 16", "10: levels.GLB.bandwidth_words_per_cycle.raed: unknown key "
         "(did you mean 'read'?)"),
        (RF_SIZE, RF_SIZE + "    capacity_words: 512\n", "15: key 'capacity_words' is given twice, on lines 14 "
         "and 15"),
        ("name: right", "name: [right", "2: not YAML: while parsing a flow sequence from line 1 on: expected "
         "',' or ']', but got ':'"),
    ],
)  # fmt: skip
def test_case_35_an_unknown_or_repeated_key_is_refused_with_the_nearest(
    load: Load, old: str, new: str, message: str
) -> None:
    check(load, ((old, new),), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GLB_ENERGY, "", f"8: levels.GLB: component GLB has no energy ({ENERGY_HINT})"),
        ("write: 7, ", "", "11: levels.GLB.energy_pj_per_word.write: is missing (fills and updates)"),
        ("drain: 0, source: s", "drain: 0", "11: levels.GLB.energy_pj_per_word.source: is missing (where the "
         "numbers come from)"),
        ("drain: 0, source: s", "source: ' '", "11: levels.GLB.energy_pj_per_word.source: expected 1 or more "
         "characters, found ' '"),
        ("energy_pj: 1, ", "", "16: compute: component MAC has no energy (compute: {energy_pj: ..., source: ...})"),
        ("energy_pj: 1, source: s", "energy_pj: 1", "16: compute.source: is missing (where the numbers come from)"),
        (COMPUTE, "", "1: compute: is missing"),
        ("read: 6,", "read: ,", "11: levels.GLB.energy_pj_per_word.read: has no value"),
        ("read: 6,", "read: -6,", "11: levels.GLB.energy_pj_per_word.read: expected 0 or more, found -6"),
        ("read: 6,", "read: .nan,", "11: levels.GLB.energy_pj_per_word.read: expected a finite number, found nan"),
        ("read: 6,", "read: .inf,", "11: levels.GLB.energy_pj_per_word.read: expected a finite number, found inf"),
        ("read: 6,", "read: NO,", "11: levels.GLB.energy_pj_per_word.read: expected a number, found 'NO'"),
        ("read: 6,", "read: 6 pJ,", "11: levels.GLB.energy_pj_per_word.read: expected a number, found '6 pJ'"),
        (GLB_ENERGY, GLB_ENERGY + "    energy_pj_per_bit: {read: 1, write: 1, source: s}\n",
         "12: levels.GLB.energy_pj_per_bit: {read: 1, write: 1, source: 's'} contradicts "
         "energy_pj_per_word: {read: 6, write: 7, drain: 0, source: 's'} "
         "(keep one of energy_pj_per_word, energy_pj_per_bit)"),
    ],
)  # fmt: skip
def test_case_29_a_component_has_an_energy_with_its_source_or_an_error_names_it(
    load: Load, old: str, new: str, message: str
) -> None:
    check(load, ((old, new),), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (RF_SIZE, "", f"13: levels.RF: component RF has no capacity ({ONE_OF_CAPACITIES})"),
        (RF_SIZE, RF_SIZE + "    capacity_bits: 4000\n", "15: levels.RF.capacity_bits: 4000 contradicts "
         "capacity_words: 256 (keep one of capacity_words, capacity_bits)"),
        ("capacity_words: 256", "capacity_words: 0", "14: levels.RF.capacity_words: expected 1 or more, found 0"),
        ("capacity_words: 256", "capacity_words: -1", "14: levels.RF.capacity_words: expected 1 or more, found -1"),
        ("capacity_words: 256", "capacity_words: 1.5", "14: levels.RF.capacity_words: expected a whole number, "
         "found 1.5"),
        ("capacity_kib: 64", "capacity_kib: 0", "9: levels.GLB.capacity_kib: expected more than 0, found 0"),
        ("capacity_kib: 64", "capacity_kib: 0.1", "9: levels.GLB.capacity_kib: 0.1 is 819.2 bits, not a whole "
         "number"),
        ("capacity_kib: 64", "capacity_kib: 1e30", "9: levels.GLB.capacity_kib: 1e+30 is more than 2**62 bits "
         "(capacity: unlimited)"),
        ("capacity_kib: 64", "capacity: 64", "9: levels.GLB.capacity: expected 'unlimited', found 64"),
        ("capacity_kib: 64", "capacity_kib: 64\n    word_bits: 0", "10: levels.GLB.word_bits: expected 1 or more, "
         "found 0"),
        ("capacity: unlimited\n    energy_pj_per_word", "capacity: unlimited\n    word_bits: 8\n    energy_pj_per_bit",
         "7: levels.DRAM.word_bits: nothing here is in words (leave it out)"),
        ("{default: 16, partial_sum: 32}", "{W: 8, I: 8, O: 8}", "3: bits.partial_sum: is missing (give it, or "
         "bits.default)"),
        ("{default: 16, partial_sum: 32}", "{W: 8, I: 8, O: 8, partial_sum: 8}", "7: levels.DRAM."
         "energy_pj_per_word: how wide is a word? (give word_bits here, or bits.default)"),
    ],
)  # fmt: skip
def test_a_size_is_stated_once_and_makes_sense(load: Load, old: str, new: str, message: str) -> None:
    check(load, ((old, new),), message)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("{}", "10: levels.GLB.bandwidth_words_per_cycle: says nothing (give read, write or shared)"),
        ("4", "10: levels.GLB.bandwidth_words_per_cycle: expected a mapping, found 4"),
        ("{read: 0}", "10: levels.GLB.bandwidth_words_per_cycle.read: expected more than 0, found 0"),
        ("{read: 4}\n    bandwidth_gb_per_s: {read: 4}", "11: levels.GLB.bandwidth_gb_per_s: {read: 4} "
         "contradicts bandwidth_words_per_cycle: {read: 4} "
         "(keep one of bandwidth_words_per_cycle, bandwidth_gb_per_s)"),
        ("{read: 4}\n    ports: 2", "11: levels.GLB.ports: says nothing without port_width_bits"),
        ("{read: 4}\n    port_width_bits: 2", "11: levels.GLB.port_width_bits: says nothing without ports"),
    ],
)  # fmt: skip
def test_a_bandwidth_says_something_and_says_it_once(load: Load, new: str, message: str) -> None:
    old = "bandwidth_words_per_cycle: {read: 16, write: 8}"
    check(load, ((old, f"bandwidth_words_per_cycle: {new}"),), message)


def test_unlimited_bandwidth_and_ports_contradict_each_other(load: Load) -> None:
    new = "    bandwidth: unlimited\n    ports: 2\n    port_width_bits: 64\n"
    message = "10: levels.GLB.bandwidth: unlimited contradicts port_width_bits x ports: 128 bits per cycle"
    check(load, ((GLB_BANDWIDTH, new),), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GLB_BANDWIDTH, "    bandwidth_gb_per_s: {shared: 25.6}\n", "9: levels.GLB.bandwidth_gb_per_s"),
        (RF_SIZE, RF_SIZE + "    leakage_mw: 0.1\n", "14: levels.RF.leakage_mw"),
        ("energy_pj: 1,", "energy_pj: 1, leakage_mw: 0.1,", "15: compute.leakage_mw"),
    ],
)
def test_what_depends_on_the_clock_needs_one(load: Load, old: str, new: str, message: str) -> None:
    edits = ((old, new), ("clock_ghz: 1.0\n", ""))
    check(load, edits, f"{message}: needs a clock (give clock_ghz at the top of the file)")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: GLB", "name: X", "8: name 'X' is reserved: a mapping calls an axis so (X_buffer)"),
        ("name: GLB", "name: y", "8: name 'y' is reserved: a mapping calls an axis so (y_buffer)"),
        ("name: RF", "name: GLB", "13: name 'GLB' is given twice, on lines 8 and 13 (GLB_2)"),
        ("compute: {", "compute: {name: RF, ", "16: name 'RF' is given twice, on lines 13 and 16 (RF_2)"),
        ("name: RF", "name: R-F", "13: levels.R-F.name: expected text of the form ^[A-Za-z][A-Za-z0-9_]*$, "
         "found 'R-F'"),
        ("name: RF", "name: 1", '13: levels.1.name: expected text, found 1 (as text, write "1")'),
        ("name: right", "name: a/b", "1: name: expected text of the form ^[A-Za-z0-9][A-Za-z0-9_.-]*$, "
         "found 'a/b'"),
        ("clock_ghz: 1.0", "clock_ghz: 0", "2: clock_ghz: expected more than 0, found 0"),
        ("clock_ghz: 1.0", "clock_ghz: 1e-300", "2: clock_ghz: expected 1e-30 or more, found 1e-300"),
        ("clock_ghz: 1.0", "clock_ghz: 1e300", "2: clock_ghz: expected 1e+30 or less, found 1e+300"),
        ("clock_ghz: 1.0", "technology_nm: -40", "2: technology_nm: expected 1 or more, found -40"),
    ],
)  # fmt: skip
def test_names_are_usable_and_unique(load: Load, old: str, new: str, message: str) -> None:
    check(load, ((old, new),), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{x: 14, y: 12}", "{x: 14, y: 12, pes: 170}", "12: levels.GLB.fanout.pes: 170, but x * y is 14 * 12 = "
         "168 (pes: 168)"),
        ("{x: 14, y: 12}", "{pes: 168}", "12: levels.GLB.fanout: has neither x nor y (x: 16, y: 16)"),
        ("{x: 14, y: 12}", "{x: 0, y: 12}", "12: levels.GLB.fanout.x: expected 1 or more, found 0"),
        ("{x: 14, y: 12}", "{x: 1e3, y: 12}", "12: levels.GLB.fanout.x: expected a whole number, found 1000.0"),
        ("{x: 14, y: 12}", "{x: 9999999}", "12: levels.GLB.fanout.x: expected 65536 or less, found 9999999"),
        ("{x: 14, y: 12}", "{x: 14, multicast: yes}", "12: levels.GLB.fanout.multicast: expected true, false or "
         "{x: ..., y: ...}, found 'yes'"),
        ("{x: 14, y: 12}", "{x: 14, multicast: {x: true}}", "12: levels.GLB.fanout.multicast.y: is missing"),
        ("{x: 14, y: 12}", "{x: 14, spread_x: []}", "12: levels.GLB.fanout.spread_x: expected 1 or more entries, "
         "found an empty list"),
        ("{x: 14, y: 12}", "{x: 14, spread_x: [K, K]}", "12: levels.GLB.fanout.spread_x: K is given twice"),
        ("{x: 14, y: 12}", "{x: 14, spread_x_irrelevant_to: [K]}", "12: levels.GLB.fanout."
         "spread_x_irrelevant_to.0: expected 'W', 'I' or 'O', found 'K'"),
        ("name: RF", "name: RF\n    instances: 100", "14: levels.RF.instances: 100, but the fan-outs above "
         "(DRAM 1 x 1, GLB 14 x 12) give 168 (instances: 168)"),
        ("name: DRAM", "name: DRAM\n    instances: 2", "6: levels.DRAM.instances: 2, but the outermost level is "
         "one (instances: 1)"),
        ("energy_pj: 1,", "energy_pj: 1, instances: 250,", "16: compute.instances: 250, but the fan-outs above "
         "(DRAM 1 x 1, GLB 14 x 12, RF 1 x 1) give 168, and 168 parents do not divide 250 (instances: 168)"),
    ],
)  # fmt: skip
def test_case_16_pe_counts_and_instances_agree_with_the_fanouts(load: Load, old: str, new: str, message: str) -> None:
    check(load, ((old, new),), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: RF", "name: RF\n    keep: [W, B]", "14: levels.RF.keep.1: expected 'W', 'I' or 'O', found 'B'"),
        ("name: RF", "name: RF\n    keep: [W, W]", "14: levels.RF.keep: W is given twice"),
        ("name: RF", "name: RF\n    keep: []", "14: levels.RF: keeps no tensor (keep: [W, I, O], or leave the "
         "level out)"),
        ("name: RF", "name: RF\n    keep: [W]\n    may_keep: [W, I]", "15: levels.RF.may_keep: W is in keep too "
         "(always kept, or open: choose)"),
        ("name: DRAM", "name: DRAM\n    keep: [W, I]", "6: levels.DRAM: the outermost level keeps every tensor, "
         "this one does not keep O"),
        ("name: DRAM", "name: DRAM\n    may_keep: [W]", "5: levels.DRAM: the outermost level keeps every tensor, "
         "this one does not keep W"),
        (RF_SIZE + RF_ENERGY, SPADS + RF_SIZE, "17: levels.RF.capacity_words: stands outside the buffers (move it "
         "into each of them)"),
        (RF_SIZE + RF_ENERGY, SPADS.replace("[I, O]", "[I, W]"), "16: levels.RF.buffers.io_spad.tensors: W is "
         "already in w_spad"),
        (RF_SIZE + RF_ENERGY, "    keep: [W, I]\n" + SPADS, "14: levels.RF: keep and may_keep name W, I, its "
         "buffers hold W, I, O"),
        (RF_SIZE + RF_ENERGY, SPADS.replace("capacity_words: 8, ", "", 1), "15: levels.RF.buffers.w_spad: "
         f"component w_spad has no capacity ({ONE_OF_CAPACITIES})"),
        (RF_SIZE + RF_ENERGY, SPADS.replace("w_spad", "RF"), "15: name 'RF' is given twice, on lines 13 and 15 "
         "(RF_2)"),
        (RF_SIZE + RF_ENERGY, "    buffers: []\n", "14: levels.RF.buffers: expected 1 or more entries, found an "
         "empty list"),
    ],
)  # fmt: skip
def test_every_tensor_has_one_place_in_a_level(load: Load, old: str, new: str, message: str) -> None:
    check(load, ((old, new),), message)


def test_no_levels_is_refused(load: Load) -> None:
    start, end = RIGHT.index("  - name: DRAM"), RIGHT.index("compute:")
    message = "4: levels: expected 1 or more entries, found an empty list"
    assert refusal(load, RIGHT[:start].replace("levels:", "levels: []") + RIGHT[end:]) == f"a.yaml:{message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("topology: mesh", "topology: mseh", "16: {}.topology: no topology 'mseh' (did you mean 'mesh'?)"),
        ("topology: mesh", "topology: 3", '16: {}.topology: expected text, found 3 (as text, write "3")'),
        ("tile_mm: 1", "tile_mm: 0", "17: {}.tile_mm: expected more than 0, found 0"),
        ("tile_mm: 1", "tile_mm: .nan", "17: {}.tile_mm: expected a finite number, found nan"),
        ("tile_mm: 1", "tile_mm: 1e308", "17: {}.tile_mm: expected 1e+30 or less, found 1e+308"),
        ("tile_mm: 1", "tile_m: 1", "17: {}.tile_m: unknown key (did you mean 'tile_mm'?)"),
        ("cycle: 8", "cycle: 0", "20: {}.link_bits_per_cycle: expected more than 0, found 0"),
        ("switch_pj_per_bit: 1", "switch_pj_per_bit: -1", "19: {}.switch_pj_per_bit: expected 0 or more, found -1"),
        ("        source: s\n", "", "15: {}.source: is missing (where the numbers come from)"),
        ("link_bits_per_cycle: 8", "wire_um2_per_bit_mm: 2", "20: {}.wire_um2_per_bit_mm: of links of unknown width "
         "(give link_bits: 64)"),
        ("      x: 14\n      y: 12\n", "", "12: levels.GLB.fanout: has neither x nor y (x: 16, y: 16)"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_is_refused(load: Load, old: str, new: str, message: str) -> None:
    assert old in NETWORK
    network = NETWORK.replace(old, new, 1)
    check(load, (("    fanout: {x: 14, y: 12}\n", network),), message.format("levels.GLB.fanout.network"))


def test_a_level_may_not_be_called_as_the_network_of_another(load: Load) -> None:
    edits = (("    fanout: {x: 14, y: 12}\n", NETWORK), ("name: RF", "name: GLB_network"))
    check(load, edits, "22: name 'GLB_network' is given twice, on lines 15 and 22 (GLB_network_2)")
