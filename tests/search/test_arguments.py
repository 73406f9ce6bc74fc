"""From Python: an argument of the wrong kind is refused in words, before any work."""

from __future__ import annotations

from typing import Any

import pytest

import mapper
from mapper.errors import InputError

GEMM = mapper.Einsum.parse("Z[M,N] += A[M,K] * B[K,N]", M=4, N=4, K=4)
MAPPING = "DRAM: M4 N4 K4"


@pytest.mark.parametrize("layer", ["resnet18:fc", mapper.load_network("resnet18"), None])
def test_a_name_or_a_network_is_no_layer(layer: Any) -> None:
    with pytest.raises(InputError, match=r"is not a layer \(load_layer\('resnet18:conv1'\), or "):
        mapper.evaluate(layer, "procrustes", MAPPING)
    with pytest.raises(InputError, match="is not a layer"):
        mapper.search(layer, "procrustes", partitioning="MN")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arch": None}, "None is not an accelerator"),
        ({"phase": 3}, "3 is not a phase"),
        ({"partitioning": ["M", "N"]}, r"\['M', 'N'\] is not a partitioning"),
        ({"top": 1.5}, "1.5 is not a number of mappings"),
        ({"top": 0}, "top is 0"),
        ({"metric": "speed"}, "unknown metric 'speed'"),
    ],
)
def test_an_argument_of_a_search_of_the_wrong_kind_is_refused(wrong: dict[str, Any], message: str) -> None:
    arguments = {"arch": "procrustes", "partitioning": "MN"} | wrong
    with pytest.raises(InputError, match=message):
        mapper.search(GEMM, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GEMM, "procrustes", 3), "3 is not a mapping"),
        ((GEMM, ("DRAM",), MAPPING), r"\('DRAM',\) is not an accelerator"),
    ],
)
def test_an_argument_of_an_evaluation_of_the_wrong_kind_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mapper.evaluate(*arguments)
