"""What came of a search as text, and back: mappings are kept in their notation and evaluated again when read.

So a store holds what a search decided (which mappings, in which order, with what proof) and none of what follows from
it. Cycles and energy of each mapping stand beside it: where evaluating it gives others, the text is not to be trusted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from mapper.cost import Evaluation, evaluate_part
from mapper.errors import InfeasibleError, InputError, MapperError, MappingError
from mapper.mapping import parse_nest
from mapper.runs.work import Measured, Measurement, Outcome, measured
from mapper.search.result import Certificate, Ranked
from mapper.search.solve import Problem, Solution, infeasible

T = TypeVar("T")

DECIDED = ("mapping", "cycles", "energy_pj")
"""What is kept of a mapping at least."""

_ERRORS: dict[str, type[MapperError]] = {kind.__name__: kind for kind in (MapperError, InputError, MappingError)}
"""Errors that are their message, place and hint."""


def written(outcome: Outcome | Measurement) -> str | None:
    """An outcome as one line of JSON; None for one that is not final, as after Ctrl-C or at the end of the time."""
    if isinstance(outcome, MapperError):
        return _error_written(outcome)
    if not outcome.certificate.optimal:
        return None
    ranked = outcome.rows if isinstance(outcome, Measured) else [_decided(each) for each in outcome.ranked]
    return json.dumps({"ranked": ranked, "certificate": asdict(outcome.certificate)})


def _decided(ranked: Ranked) -> dict[str, Any]:
    found = ranked.evaluation
    return dict(zip(DECIDED, (str(ranked.mapping), found.cycles, found.energy_pj), strict=True))


def _error_written(error: MapperError) -> str | None:
    name = type(error).__name__
    if name not in _ERRORS and not isinstance(error, InfeasibleError):
        return None
    message, where, hint = str(error), None, None
    if isinstance(error, InputError):
        message, where, hint = error.message, error.where, error.hint
    said = {"class": name, "message": message, "where": where, "hint": hint, "exit_code": error.exit_code}
    return json.dumps({"error": said})


def read(text: str, problem: Problem) -> Outcome:
    """The outcome of `problem` that `written` has written.

    Raises `ValueError` for any other text, and where its mappings do not cost what they did.
    """
    return _read(text, problem, _solution)


def read_measured(text: str, problem: Problem) -> Measurement:
    """The rows of `problem` as `written` has written them, or evaluated where it wrote decisions alone."""
    return _read(text, problem, _measured)


def _read(text: str, problem: Problem, solution: Callable[[dict[str, Any], Problem], T]) -> T | MapperError:
    try:
        document = json.loads(text)
        return _error(document["error"], problem) if "error" in document else solution(document, problem)
    except (KeyError, IndexError, TypeError, AttributeError, MapperError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _measured(document: dict[str, Any], problem: Problem) -> Measured:
    certificate, ranked = Certificate(**document["certificate"]), document["ranked"]
    if certificate.optimal and len(ranked[0]) > len(DECIDED):
        return Measured(tuple(ranked), certificate)
    return measured(_solution(document, problem))


def _error(said: dict[str, Any], problem: Problem) -> MapperError:
    if said["class"] == InfeasibleError.__name__:
        # Its diagnosis speaks in units and places of the user's files, which are no part of what is searched.
        return infeasible(problem)
    kind = _ERRORS[said["class"]]
    return kind(said["message"], said["where"], said["hint"]) if issubclass(kind, InputError) else kind(said["message"])


def _solution(document: dict[str, Any], problem: Problem) -> Solution:
    certificate = Certificate(**document["certificate"])
    if not certificate.optimal or not document["ranked"]:
        raise ValueError("no finished search")
    ranked = (
        Ranked(rank, _evaluation(each, problem), certificate) for rank, each in enumerate(document["ranked"], start=1)
    )
    return Solution(tuple(ranked), certificate)


def _evaluation(said: dict[str, Any], problem: Problem) -> Evaluation:
    found = evaluate_part(problem.einsum, problem.accelerator, parse_nest(said["mapping"]), problem.sparsity)
    if (found.cycles, found.energy_pj) != (said["cycles"], said["energy_pj"]):
        raise ValueError(f"{said['mapping']} costs something else now")
    return found
