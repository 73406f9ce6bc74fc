"""Evaluate a mapping that somebody wrote: names and text in, one `Evaluation` out."""

from __future__ import annotations

from mapper.arch import Accelerator, load_arch
from mapper.cost.single import Evaluation, evaluate_one
from mapper.errors import InputError, expect
from mapper.mapping import LoopNest, bind, parse_nest
from mapper.workload import Einsum, Layer, Phase


def evaluate(
    layer: Layer | Einsum,
    arch: Accelerator | str,
    mapping: LoopNest | str,
    *,
    phase: Phase | str = Phase.fw,
    part: int | None = None,
) -> Evaluation:
    """Cost of `mapping` for one part of a phase of a layer, or for an einsum.

    `arch` is an accelerator or what `load_arch` takes; `part` counts from 1 and must be given where a phase
    has several. A mapping whose tiles do not fit is evaluated all the same: see `Evaluation.fits` and `.occupancy`.
    Raises `MappingError` where the mapping does not describe an execution of the einsum.
    """
    accelerator = accelerator_of(arch)
    nest = parse_nest(mapping) if isinstance(mapping, str) else mapping
    expect(nest, LoopNest, "a mapping", "text such as 'DRAM: K4 C2 | GLB: ...', or a LoopNest")
    return evaluate_one(bind(nest, einsum_of(layer, phase, part), accelerator), accelerator)


def accelerator_of(arch: Accelerator | str) -> Accelerator:
    """An accelerator, or the one that `load_arch` finds."""
    accelerator = load_arch(arch) if isinstance(arch, str) else arch
    expect(accelerator, Accelerator, "an accelerator", "a name or path as text, or what load_arch returns")
    return accelerator


def check_layer(layer: object) -> None:
    """Refuse what is neither a layer nor an einsum, such as its name or its network."""
    expect(layer, (Layer, Einsum), "a layer", "load_layer('resnet18:conv1'), or load_network('resnet18')['conv1']")


def einsum_of(layer: Layer | Einsum, phase: Phase | str = Phase.fw, part: int | None = None) -> Einsum:
    """One part of a phase of a layer; an einsum is itself."""
    check_layer(layer)
    if isinstance(layer, Einsum):
        return layer
    einsums = layer.einsums(phase)
    if part is None and len(einsums) > 1:
        raise InputError(f"{layer.label}: phase {phase} has {len(einsums)} parts", hint=f"part 1 to {len(einsums)}")
    part = 1 if part is None else part
    expect(part, int, "a part", f"1 to {len(einsums)}")
    if not 1 <= part <= len(einsums):
        raise InputError(f"{layer.label}: phase {phase} has no part {part}", hint=f"1 to {len(einsums)}")
    return einsums[part - 1]
