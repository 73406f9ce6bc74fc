"""Options about zeros: densities, masks and balancing, the same for every command that costs a mapping."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from mapper.cli import options

if TYPE_CHECKING:
    from mapper.sparsity.asked import ZerosAsked

BALANCES = ("none", "half_tile", "half_tile_uneven", "global", "ideal")
"""As in `mapper.arch.zeros`, which is not imported here so that `--help` stays quick; a test compares them."""

_OPTIONS = (
    click.option(
        "--density",
        metavar="D",
        help="Share of the weights that is not zero: 0.1, 10%, a pattern such as 2:4, 0.1~0.05 (with a dispersion), or "
        "a YAML file with a density for each layer. What zeros save, the accelerator's `zeros` say.",
    ),
    click.option("--sparsity", metavar="S", help="1 - density: --sparsity 0.9 is --density 0.1."),
    click.option(
        "--activation-density", metavar="D", help="The same of activations (I); the network's input stays dense."
    ),
    click.option("--gradient-density", metavar="D", help="The same of gradients of the output (dO)."),
    click.option(
        "--masks", metavar="FILE", type=click.Path(), help="Actual weight masks: .npz, a folder of .npy, or .pt."
    ),
    click.option("--axes", metavar="AXES", help="Order of the masks' axes. Default: KCRS."),
    click.option("--threshold", type=float, metavar="T", help="Masks of floats keep what is larger in magnitude."),
    click.option("--snapshot", metavar="NAME", help="Which of several masks: a name, a place from 0, or last."),
    click.option("--partial-masks", "partial", is_flag=True, help="Layers without a mask stay dense."),
    click.option(
        "--balance",
        type=options.OneOf(BALANCES),
        metavar="B",
        help="|".join(BALANCES) + ": how PEs even out their work. Default: what the accelerator does.",
    ),
)
NAMES = (
    *("density", "sparsity", "activation_density", "gradient_density", "masks", "axes", "threshold", "snapshot"),
    *("partial", "balance"),
)


def zeros_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets `zeros`, a `ZerosAsked`."""

    @wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        return function(*args, zeros=asked({name: kwargs.pop(name) for name in NAMES}), **kwargs)

    return options.together(*_OPTIONS)(command)


def asked(given: dict[str, Any]) -> ZerosAsked:
    """What the command line said."""
    from mapper.sparsity.asked import ZerosAsked

    return ZerosAsked(**given)
