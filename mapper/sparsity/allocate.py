"""How a network's density is shared out among its layers.

Three rules, all of which meet the density of the whole network, d = sum(d_l * n_l) / sum(n_l) with n_l weights:

    uniform   d_l = d
    ERK       d_l = min(1, e * (sum of the filter's extents) / (product of them)), one e for all layers
              (Erdos-Renyi-Kernel: Evci et al., "Rigging the Lottery", ICML 2020)
    global    d_l = P(|N(0, 2/fan_in)| > t), one t for all layers: what one magnitude threshold over the whole
              network leaves of weights as they are initialised (He et al., ICCV 2015)

A *shape* is a layer's weights as stored: (K, C) of a linear layer, (K, C of one group, R, S) of a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from mapper.errors import InputError
from mapper.sparsity.density import Uniform, parse_density
from mapper.sparsity.model import check_share

Shapes = Mapping[str, tuple[int, ...]]
Densities = dict[str, float]

_HALVINGS = 200
"""Steps of a bisection: more than the digits of a float."""
_SAME = 1e-9
"""Densities no farther apart are the same, written differently."""


def uniform(shapes: Shapes, density: float) -> Densities:
    """The same density in every layer."""
    check_share(density)
    return dict.fromkeys(shapes, density)


def erk(shapes: Shapes, density: float, repeats: Mapping[str, int] | None = None) -> Densities:
    """Erdos-Renyi-Kernel densities: a layer that would pass 1 is dense and the scale is solved again.

    `repeats` says how often a layer occurs, once where it is not named.

    >>> erk({"wide": (100, 100), "narrow": (10, 10)}, 0.2)["narrow"]
    1.0
    """
    check_share(density)
    sizes = _sizes(shapes, repeats)
    raw = {name: sum(shape) / math.prod(shape) for name, shape in shapes.items()}
    dense: set[str] = set()
    while True:
        others = sum(raw[name] * sizes[name] for name in shapes if name not in dense)
        left = density * sum(sizes.values()) - sum(sizes[name] for name in dense)
        scale = left / others if others else 0.0
        over = {name for name in shapes if name not in dense and scale * raw[name] > 1}
        if not over:
            return {name: 1.0 if name in dense else scale * raw[name] for name in shapes}
        dense |= over


def global_magnitude(shapes: Shapes, density: float, repeats: Mapping[str, int] | None = None) -> Densities:
    """Densities that one magnitude threshold leaves of He-initialised layers.

    >>> wide, narrow = global_magnitude({"wide": (64, 64, 3, 3), "narrow": (64, 64, 1, 1)}, 0.1).values()
    >>> wide < 0.1 < narrow
    True
    """
    check_share(density)
    sizes = _sizes(shapes, repeats)
    if density in (0.0, 1.0):
        return dict.fromkeys(shapes, density)
    fan_in = {name: math.prod(shape[1:]) for name, shape in shapes.items()}

    def densities(threshold: float) -> Densities:
        # P(|x| > t) of a normal x with variance 2/fan_in.
        return {name: math.erfc(threshold * math.sqrt(fan_in[name]) / 2) for name in shapes}

    wanted = density * sum(sizes.values())
    return densities(_falling(lambda t: sum(d * sizes[name] for name, d in densities(t).items()), wanted))


def one_density(density: object, sparsity: object) -> float | None:
    """The density that a user states as such, as sparsity = 1 - density, or as both; None where neither is given.

    Either is a number or a text such as "10%". Raises `InputError` where one is no share, or the two disagree.

    >>> one_density(None, "0.9")
    0.1
    """
    stated = None if density is None else _share(density, "density")
    if sparsity is None:
        return stated
    # Rounded, so that a sparsity of 0.9 is a density of 0.1 and not of 0.09999999999999998.
    other = round(1 - _share(sparsity, "sparsity"), 12)
    if stated is not None and abs(stated - other) > _SAME:
        raise InputError(
            f"density {density} and sparsity {sparsity} disagree", hint=f"sparsity {1 - stated:.6g}, or one"
        )
    return other if stated is None else stated


def _share(value: object, where: str) -> float:
    found = parse_density(value, where)
    if not isinstance(found, Uniform):
        raise InputError(f"'{value}' is not one number", where, "such as 0.1 or 10%")
    return found.density


def _sizes(shapes: Shapes, repeats: Mapping[str, int] | None) -> dict[str, int]:
    """Weights of each layer in the whole network."""
    if not shapes:
        raise InputError("no layer has weights to share a density")
    return {name: math.prod(shape) * (repeats or {}).get(name, 1) for name, shape in shapes.items()}


def _falling(function: Callable[[float], float], wanted: float) -> float:
    """Where a function that falls towards 0 passes `wanted`, by bisection."""
    low, high = 0.0, 1.0
    while function(high) > wanted:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > wanted else (low, middle)
    return (low + high) / 2
