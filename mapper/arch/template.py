"""What `mapper new arch NAME` writes: a small accelerator that runs, with every key explained."""

from __future__ import annotations

from mapper.shipped import filled


def arch_template(name: str) -> str:
    """The commented YAML of a small accelerator called `name`; `load_arch` reads it as it stands."""
    return filled(TEMPLATE, name, "an accelerator")


TEMPLATE = """\
# An accelerator: storage levels outermost first, compute below the last. Check it with `mapper validate FILE`.
# Tensors go by role, in every phase: W the plain operand (weights; activations in weight update), I the sliding
# operand, O the accumulated tensor. A key that mapper does not know is an error, never ignored.
name: "NAME"
description: three levels, 4 x 4 PEs
technology_nm: 45                    # optional
clock_ghz: 1.0                       # needed by bandwidth_gb_per_s and leakage_mw
bits: {default: 16, partial_sum: 32} # of a word; also W, I, O where they differ from the default

levels:
  - name: DRAM                       # letters, digits and _; not X or Y, which are the axes of a fan-out
    # Size of one instance, exactly one of: capacity: unlimited, capacity_kib, capacity_bytes, capacity_words,
    # capacity_bits.
    capacity: unlimited
    # Per instance, any of read, write, shared (both directions together). Also bandwidth_words_per_cycle and
    # bandwidth_bits_per_cycle. Not given (or bandwidth: unlimited): never the limit.
    bandwidth_gb_per_s: {shared: 25.6}
    # Also energy_pj_per_word. Read serves the level below; write is a fill from above or an update from below;
    # drain reads a result out to send it up and costs a read unless given. The source is not optional.
    energy_pj_per_bit: {read: 20.3, write: 20.3, source: "Horowitz, ISSCC 2014: DRAM 1.3 nJ per 64 bits, 45 nm"}

  - name: GLB
    capacity_kib: 32
    double_buffered: true            # half the capacity takes the next tile while the other serves this one
    keep: [I, O]                     # always kept here; default: all that may_keep does not name
    may_keep: [W]                    # kept or bypassed: the search decides
    bandwidth_words_per_cycle: {read: 8, write: 4} # a word has bits.default, or the word_bits of this level
    port_width_bits: 64              # optional: width x ports is compared with the bandwidth; alone, it is the
    ports: 3                         #   bandwidth, shared
    drain_on_read_port: true         # default; false: drains take no bandwidth
    energy_pj_per_word: {read: 5, write: 5, drain: 5, source: "Horowitz, ISSCC 2014: 32 KiB, 20 pJ per 64 bits"}
    # leakage_mw: 0.1                # of one instance; default 0
    # area_um2: 250000               # of one instance; default unknown
    instances: 1                     # optional: checked against the fan-outs above
    # The X by Y children of one instance.
    fanout:
      x: 4
      y: 4
      pes: 16                        # optional: x * y, checked
      multicast: true                # one word reaches several children at once; or {x: true, y: false}
      reduction: {x: true, y: true}  # partial sums of several children are added on the way up
      # Optional limits on what a mapping may spread: dimensions by name, or by the tensors they must not index.
      # spread_x: [K, N]
      # spread_y_irrelevant_to: [O]
      # How words get there: bus, mesh, tree, crossbar or benes. Optional: without it, at no cost. Links: unlimited.
      network:
        {topology: mesh, tile_mm: 0.5, wire_pj_per_bit_mm: 0.08, switch_pj_per_bit: 0.03, link_bits_per_cycle: 64,
         source: "assumption: replace it"}

  - name: PE
    # Memories side by side, each for its own tensors, with the keys of a memory as above. Without `buffers` a level
    # is one memory that its tensors share.
    buffers:
      - name: weights
        tensors: [W]
        capacity_words: 64
        energy_pj_per_word: {read: 1, write: 1, source: "assumption: replace it"}
      - name: activations
        tensors: [I, O]
        capacity_bytes: 128
        energy_pj_per_word: {read: 1, write: 1, source: "assumption: replace it"}

compute:
  name: MAC                          # default
  energy_pj: 2.0                     # per multiply-accumulate; also leakage_mw and area_um2 of one, and instances
  source: "Horowitz, ISSCC 2014: fp16 multiply 1.1 pJ, fp32 add 0.9 pJ, 45 nm"

# Optional: what the hardware does about zeros. Uncomment what it has; without this block they are words like any other.
# zeros:
#   skip: [W]                        # zeros of W or I that take neither cycle nor energy; `gate`: only a cycle
#   balance: half_tile               # of PEs that wait for each other: none, half_tile, half_tile_uneven, global, ideal
#   formats:                         # per level and tensor: bitmask, csb, rle, coordinate, csr, csc, or N:M such as 2:4
#     DRAM: {W: {kind: csb, block: 9, pointer_bits: 20}}
#     PE: {W: bitmask}
#   overhead: {energy: 0.1, area: 0.1, source: "assumption: share of all else on the chip"}
#   events:                          # per gradient, regenerated weight, sort, pointer or sample
#     - {name: estimator, kind: gradient, energy_pj: 1, source: "assumption: replace it"}
"""
