"""What `mapper new sweep NAME` writes: a small sweep that runs, with every key explained."""

from __future__ import annotations

from mapper.shipped import filled


def sweep_template(name: str) -> str:
    """The commented YAML of a small sweep called `name`; `load_sweep` reads it as it stands."""
    return filled(TEMPLATE, name, "a sweep")


TEMPLATE = """\
# NAME, a sweep: one search at every point. `mapper sweep FILE --dry-run` lists the points and says how long they take.

# The same at every point; each of these may vary instead, below.
network: resnet18               # a shipped name or a file
arch: procrustes                # a shipped name or a file
layers: [layer2.0.conv2, fc]    # all unless given
phase: [fw, bw, wu]             # all that training needs unless given
partition: [CK, KN]             # searched beside each other; all, any, or pairs of dimensions
batch: 16                       # 1 unless given
activation_density: 0.5         # also density, gradient_density, masks, balance: as the options of mapper search
metric: edp                     # edp unless given; energy, cycles, pareto
top: 1                          # mappings of each ranking; 1 unless given

# Keys of the accelerator's file that are the same at every point: LEVEL.key, bits.W, clock_ghz, MAC.area_um2 ...
# With an area for every component the Pareto front is one of energy, cycles and area.
set:
  GLB.area_um2: 420000          # made up, as the others here: take those of your technology
  RF.area_um2: 4000
  MAC.area_um2: 7700
  GLB.fanout.network.wire_um2_per_bit_mm: 0.4
  GLB.fanout.network.switch_um2: 100
  GLB.fanout.network.link_bits: 32

# Every combination of these.
grid:
  array: [8x8, 16x16]           # lanes of X by Y below the level with a fan-out; GLB.array where there are several
  density: [0.1, 1]             # of the weights
  buffer:                       # several keys at once, under a name of your own
    small:
      GLB.capacity_kib: 64
      GLB.area_um2: 230000
      GLB.energy_pj_per_word.read: 8.4
      GLB.energy_pj_per_word.write: 8.9
      GLB.energy_pj_per_word.drain: 8.4
    large:
      GLB.capacity_kib: 128     # and the energies of the file

# Instead of a grid, or with it (every point with every combination), a list:
# points:
#   - {balance: half_tile, density: 0.1}
#   - {balance: none, density: 0.1}
"""
