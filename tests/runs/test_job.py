"""Keys of searches: every field of a problem matters, and no process, hash seed or order of a set does."""

from __future__ import annotations

import math
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mapper.arch import load_arch
from mapper.arch.network import Network
from mapper.mapping import parse_partitioning
from mapper.runs.job import canonical, job_key
from mapper.search.constraint_text import constraints_from
from mapper.search.solve import Problem
from mapper.sparsity.density import Actual, Banded, Blocks, Dispersed, Exactly, Structured, Uniform, Vector
from mapper.sparsity.zeros import Sparsity
from mapper.workload import load_network
from tests.search.problems import random_problem, random_sparse_problem

DENSITIES = (
    *(Uniform(0.1), Exactly(0.5, 40), Dispersed(0.2, 0.1, 9), Structured(2, 4, 1), Blocks(0.3, (2, 2))),
    *(Vector(0, (0.1, 0.2)), Banded(1.5, (4, 6), (0, 1)), Actual(np.eye(5, dtype=bool))),
)


def rich() -> Problem:
    """A problem with something in every field."""
    layer = load_network("resnet18", batch=4)["layer2.0.conv1"]
    accelerator = load_arch("procrustes")
    network = Network("mesh", 0.5, 0.1, 0.2, "by hand", Fraction(64, 3), 16, 2.0, 3.0)
    levels = [replace(each, fanout=replace(each.fanout, network=network)) for each in accelerator.levels]
    asked = constraints_from(["GLB: C<=8 P=1,7 | X: K=16", "GLB order: N K", "min_utilization: 0.5"])
    sparsity = Sparsity(tuple((f"T{number}", each) for number, each in enumerate(DENSITIES)), "ideal")
    return Problem(
        layer.parts("fw")[0].einsum,
        replace(accelerator, levels=tuple(levels)),
        parse_partitioning("KN", "NKCPQRS"),
        constraints=asked,
        sparsity=sparsity,
    )


def changed(value: object) -> Iterator[object]:
    """The value with one thing changed, for each thing that equality looks at."""
    if isinstance(value, Actual):
        yield Actual(~value.array)
        yield Actual(value.array[:-1])
        yield from (Actual(value.array ^ (np.arange(value.size) == i).reshape(value.array.shape)) for i in range(3))
    elif is_dataclass(value):
        for each in (field for field in fields(value) if field.compare):
            yield from (with_field(value, each.name, other) for other in changed(getattr(value, each.name)))
    elif isinstance(value, tuple):
        yield (*value, "more")
        for place, item in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in changed(item))
    else:
        yield leaf(value)


def leaf(value: Any) -> object:
    """Another value of the same type, as near as can be."""
    if isinstance(value, Enum | bool | None):
        return "another" if value is None or isinstance(value, Enum) else not value
    if isinstance(value, frozenset):
        return value | {"more"}
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    return value + {int: 1, Fraction: Fraction(1, 7), str: " "}[type(value)]


def with_field(value: object, name: str, content: object) -> object:
    """A copy that no validation looks at."""
    copied = object.__new__(type(value))
    for each in fields(value):  # type: ignore[arg-type]
        object.__setattr__(copied, each.name, content if each.name == name else getattr(value, each.name))
    return copied


def test_every_field_of_a_problem_changes_its_key() -> None:
    problem = rich()
    others = list(changed(problem))
    keys = {job_key(other) for other in [problem, *others]}  # type: ignore[arg-type]
    assert len(others) > 250
    assert len(keys) == 1 + len(others)


def test_the_version_changes_the_key() -> None:
    assert job_key(rich(), "0.1.0") != job_key(rich(), "0.1.1")


def test_what_says_nothing_of_the_work_leaves_the_key() -> None:
    problem = rich()
    glb = problem.accelerator.levels[1]
    other = replace(glb, buffers=tuple(replace(b, unit=replace(b.unit, key="capacity_kb")) for b in glb.buffers))
    levels = (problem.accelerator.levels[0], other, *problem.accelerator.levels[2:])
    rules = tuple(replace(rule, sources=("elsewhere.yaml:3",)) for rule in problem.constraints.rules)
    same = replace(
        problem,
        accelerator=replace(problem.accelerator, levels=levels),
        constraints=replace(problem.constraints, rules=rules),
    )
    assert job_key(same) == job_key(problem)


@pytest.mark.parametrize("make", [random_problem, random_sparse_problem])
def test_equal_problems_have_equal_keys_and_others_have_others(make: Any) -> None:
    problems = [make(random.Random(seed)) for seed in range(40)]
    copies = [pickle.loads(pickle.dumps(problem)) for problem in problems]
    assert copies == problems
    assert [job_key(copy) for copy in copies] == [job_key(problem) for problem in problems]
    assert len({job_key(problem) for problem in problems}) == len(set(problems))


def test_a_key_is_the_same_in_every_process_whatever_the_hash_seed() -> None:
    code = "from tests.runs.test_job import job_key, rich; print(job_key(rich()))"
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "17")
    }
    assert found == {job_key(rich())}


def test_orders_that_say_nothing_are_not_written() -> None:
    letters = [chr(ord("a") + number) for number in range(20)]
    assert canonical(frozenset(letters)) == canonical(frozenset(reversed(letters)))
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert canonical(("a", "b")) != canonical(("b", "a"))


def test_masks_count_by_their_words_not_by_their_memory() -> None:
    mask = np.arange(60).reshape(6, 10) % 3 == 0
    assert canonical(Actual(np.asfortranarray(mask))) == canonical(Actual(mask))
    assert canonical(mask.T.copy().T) == canonical(mask)
    assert canonical(mask.reshape(10, 6)) != canonical(mask)
    assert canonical(mask.astype(np.int8)) != canonical(mask)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("a,b",)),
        (("a", ("b",)), (("a", "b"),)),
        (1, "1"),
        (None, "None"),
        (True, 1),
        (0.1, math.nextafter(0.1, 1)),
        (Fraction(1, 2), 0.5),
        (b"ab", "ab"),
    ],
)
def test_values_that_differ_have_texts_that_differ(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


def test_numbers_of_numpy_are_numbers() -> None:
    assert canonical(np.int64(3)) == canonical(3)
    assert canonical(np.float64(0.1)) == canonical(0.1)
    assert canonical(np.bool_(True)) == canonical(True)


@pytest.mark.parametrize(
    "value", [object(), SimpleNamespace(a=1), lambda: 1, int, Problem, np.array([object()]), {"a": [object()]}]
)
def test_a_type_without_a_text_is_an_error(value: object) -> None:
    with pytest.raises(TypeError, match="no canonical text of"):
        canonical(value)
