"""What a command line says about zeros, as text: what a manifest keeps, so that a mapping can be evaluated again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from mapper.errors import InputError
from mapper.shipped import is_file
from mapper.sparsity.density import Uniform, parse_density
from mapper.sparsity.given import ACTIVATIONS, WEIGHTS, ZerosGiven
from mapper.sparsity.masks import load_masks
from mapper.workload import Network
from mapper.yamlfile import Node, read

GRADIENTS = "dO"


@dataclass(frozen=True)
class ZerosAsked:
    """Options about zeros. `density` is a number, a pattern such as 2:4, or a YAML file of densities per layer."""

    density: str | None = None
    sparsity: str | None = None
    activation_density: str | None = None
    gradient_density: str | None = None
    masks: str | None = None
    axes: str | None = None
    threshold: float | None = None
    snapshot: str | None = None
    partial: bool = False
    balance: str | None = None

    def given(self, network: Network) -> ZerosGiven:
        """What it means for `network`. Raises `InputError` with the option, the value and the nearest valid one."""
        if self.masks is None:
            for name in ("axes", "threshold", "snapshot"):
                if getattr(self, name) is not None:
                    raise InputError("it says how masks are read, and there are none", f"--{name}", "--masks FILE")
        found: dict[str, Any] = self._weights()
        for tensor, value, option in (
            (ACTIVATIONS, self.activation_density, "--activation-density"),
            (GRADIENTS, self.gradient_density, "--gradient-density"),
        ):
            if value is not None:
                if tensor in found:
                    raise InputError(f"the file has densities of {tensor} too", option, "give one of them")
                found[tensor] = parse_density(value, option)
        masks = None
        if self.masks is not None:
            options = {"axes": self.axes} if self.axes else {}
            masks = load_masks(
                self.masks,
                network,
                threshold=self.threshold,
                snapshot=self.snapshot,
                partial=self.partial,
                **options,
            )
        given = ZerosGiven.of(found or None, masks, self.balance)
        given.check(tuple(network))
        return given

    def _weights(self) -> dict[str, Any]:
        density = None
        if self.density is not None:
            if is_file(self.density) or self.density.lower().endswith((".yaml", ".yml")):
                if self.sparsity is not None:
                    raise InputError("--density is a file, which has all densities", "--sparsity", "leave it out")
                return _from_file(read(self.density))
            density = parse_density(self.density, "--density")
        if self.sparsity is not None:
            other = _complement(self.sparsity)
            if density is not None and density != other:
                message = f"{self.sparsity} is density {other.density:g}, which contradicts --density {self.density}"
                raise InputError(message, "--sparsity", "give one of them")
            density = other
        return {} if density is None else {WEIGHTS: density}

    def as_dict(self) -> dict[str, Any]:
        """The options that are given."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> ZerosAsked:
        """Of what `as_dict` gave; options that are unknown here are another version's."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in options.items() if name in known})


def _complement(text: str) -> Uniform:
    """The density that a sparsity leaves, to the digit: 0.9 leaves 0.1."""
    try:
        share = parse_density(text, "--sparsity")
    except InputError as error:
        raise InputError(f"{text!r} is no sparsity", "--sparsity", "from 0 to 1: 0.9 is density 0.1") from error
    if not isinstance(share, Uniform):
        raise InputError(f"{text!r} is no sparsity", "--sparsity", "from 0 to 1; patterns are densities: --density 2:4")
    return Uniform(float(1 - Fraction(repr(share.density))))


def _from_file(node: Node) -> dict[str, Any]:
    """Densities of a YAML file: `layer: 0.1`, or per tensor (`W:`, `I:`, `dO:`) a density or one per layer."""
    content = node.plain()
    if not isinstance(content, dict) or not content:
        raise node.error("no densities", "W: {conv1: 0.5, fc: 0.1}, I: 0.5")
    tensors = {WEIGHTS, ACTIVATIONS, GRADIENTS}
    named = content if set(content) <= tensors else {WEIGHTS: content}
    found: dict[str, Any] = {}
    for tensor, value in named.items():
        at = node.at(tensor) if named is content else node
        layers = value if isinstance(value, dict) else {"": value}
        found[tensor] = {
            layer: parse_density(each, (at.at(layer) if layer else at).where) for layer, each in layers.items()
        }
    return found
