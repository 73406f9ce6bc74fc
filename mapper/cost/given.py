"""Evaluate a mapping that somebody wrote: names and text in, one `Evaluation` out."""

from __future__ import annotations

from mapper.arch import Accelerator, load_arch
from mapper.cost.single import Evaluation, evaluate_one
from mapper.errors import InputError, expect
from mapper.mapping import LoopNest, bind, parse_nest
from mapper.sparsity.given import Densities, ZerosGiven
from mapper.sparsity.masks import Masks
from mapper.sparsity.zeros import DENSE, Sparsity
from mapper.workload import Einsum, EinsumLayer, Layer, Part, Phase


def evaluate(
    layer: Layer | Einsum,
    arch: Accelerator | str,
    mapping: LoopNest | str,
    *,
    phase: Phase | str = Phase.fw,
    part: int | None = None,
    density: Densities = None,
    masks: Masks | None = None,
    balance: str | None = None,
) -> Evaluation:
    """Cost of `mapping` for one part of a phase of a layer, or for an einsum.

    `arch` is an accelerator or what `load_arch` takes; `part` counts from 1 and must be given where a phase has
    several. `density`, `masks` and `balance` are as in `mapper.search`. A mapping whose tiles do not fit is evaluated
    all the same: see `Evaluation.fits` and `.occupancy`.
    Raises `MappingError` where the mapping does not describe an execution of the einsum.
    """
    accelerator = accelerator_of(arch)
    nest = parse_nest(mapping) if isinstance(mapping, str) else mapping
    expect(nest, LoopNest, "a mapping", "text such as 'DRAM: K4 C2 | GLB: ...', or a LoopNest")
    whole, chosen = part_of(layer, phase, part)
    sparsity = ZerosGiven.of(density, masks, balance).sparsity(whole, chosen)
    return evaluate_part(chosen.einsum, accelerator, nest, sparsity)


def evaluate_part(einsum: Einsum, accelerator: Accelerator, nest: LoopNest, sparsity: Sparsity = DENSE) -> Evaluation:
    """Cost of a mapping of an einsum whose densities are known by tensor."""
    return evaluate_one(bind(nest, einsum, accelerator), accelerator, sparsity)


def accelerator_of(arch: Accelerator | str) -> Accelerator:
    """An accelerator, or the one that `load_arch` finds."""
    accelerator = load_arch(arch) if isinstance(arch, str) else arch
    expect(accelerator, Accelerator, "an accelerator", "a name or path as text, or what load_arch returns")
    return accelerator


def check_layer(layer: object) -> None:
    """Refuse what is neither a layer nor an einsum, such as its name or its network."""
    expect(layer, (Layer, Einsum), "a layer", "load_layer('resnet18:conv1'), or load_network('resnet18')['conv1']")


def part_of(layer: Layer | Einsum, phase: Phase | str = Phase.fw, part: int | None = None) -> tuple[Layer, Part]:
    """A layer and one part of a phase of it; an einsum is a layer of one part."""
    check_layer(layer)
    if isinstance(layer, Einsum):
        whole = EinsumLayer(name=layer.name, einsum=layer)
        return whole, whole.parts(Phase.fw)[0]
    parts = layer.parts(phase)
    if part is None and len(parts) > 1:
        raise InputError(f"{layer.label}: phase {phase} has {len(parts)} parts", hint=f"part 1 to {len(parts)}")
    part = 1 if part is None else part
    expect(part, int, "a part", f"1 to {len(parts)}")
    if not 1 <= part <= len(parts):
        raise InputError(f"{layer.label}: phase {phase} has no part {part}", hint=f"1 to {len(parts)}")
    return layer, parts[part - 1]
