"""What every figure shares: colours, the check for matplotlib, and files that are the same for the same content."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mapper.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8c8c8c"
"""Okabe and Ito's colours, told apart by every kind of colour vision."""

_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Metadata that would differ from day to day, left out."""


@contextmanager
def styled(where: str | None = None, **settings: Any) -> Iterator[None]:
    """matplotlib's settings (dots as `__`) while a figure is drawn and saved.

    Raises `InputError` without matplotlib.
    """
    if find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib", where=where, hint="pip install 'mapper[plot]'")
    from matplotlib import rc_context

    # A fixed salt: the same content gives the same file.
    named: Any = {"font.size": 7, "svg.hashsalt": "mapper"}
    named |= {name.replace("__", "."): value for name, value in settings.items()}
    with rc_context(named):
        yield


def saved(figure: Figure, form: str, dpi: int) -> bytes:
    """The file, as `png`, `svg` or `pdf`."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        # A letter that the font lacks is a box, and a panel may be too small for its layout: the figure is drawn.
        warnings.filterwarnings("ignore", category=UserWarning, module="mapper|matplotlib")
        figure.savefig(out, format=form, dpi=dpi, metadata=_UNDATED[form])
    return out.getvalue()
