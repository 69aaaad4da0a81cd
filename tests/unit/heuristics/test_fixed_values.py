"""Values that a call or ``fixed`` gives: integers of every kind, values that no configuration can have, and names that
are almost right."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from tilecore import heuristics
from tilecore.errors import ArgumentError
from tilecore.heuristics.calls import configs_for
from tilecore.plugins import manager

HOPPER = "cuda -arch=sm_90a"
TARGETS = [t for t in ("cpu", HOPPER, "cuda -arch=sm_80", "hip", "metal", "opencl") if t.split()[0] in manager.kinds()]
needs_cuda = pytest.mark.skipif("cuda" not in manager.kinds(), reason="tile-cuda is not installed")
GEMM = ("M", "N", "K", "dtype", "BM", "BN", "num_stages")
SIZES = {"M": 100, "N": 200, "K": 300, "dtype": "float32"}


def dtype_for(target):
    return "float32" if target == "opencl" else "float16"


@needs_cuda
@pytest.mark.parametrize(("sizes", "is_proposed"), [((512, 512, 16384), False), ((8192, 8192, 8192), True)])
def test_a_round_that_the_call_divides_gets_no_divided_k(sizes, is_proposed):
    """Although more parts of K are faster for few tiles."""
    target = "cuda -arch=sm_90a -multiprocessors=132"
    parameters = ("M", "N", "K", "block_M", "block_N", "block_K", "stages", "threads", "split_k", "stream_k")
    arguments = dict(zip("MNK", sizes, strict=True))
    configs, departure = configs_for(parameters, arguments, {"stream_k": 132}, target, 8)
    assert configs
    assert all((config["split_k"], config["stream_k"]) == (1, 132) for config in configs)
    assert bool(departure) is not is_proposed
    configs, departure = configs_for(parameters, arguments, {"stream_k": 0}, target, 8)
    assert departure == ""
    assert (configs[0]["split_k"] > 1) is not is_proposed


@pytest.mark.parametrize("value", [-1, "x", 2.5, True])
def test_a_number_of_blocks_that_cannot_be_is_refused(value):
    parameters = ("M", "N", "K", "block_M", "split_k", "stream_k")
    with pytest.raises(ArgumentError, match=re.escape(f"the call gives stream_k={value!r}, which no")):
        configs_for(parameters, SIZES, {"stream_k": value}, "cpu", 5)


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda -arch=sm_90a", marks=needs_cuda)])
@pytest.mark.parametrize(
    "given",
    [{"q_in_registers": 5}, {"q_in_registers": [True]}, {"block_M": [64]}, {"stages": (1,)}, {"threads": torch}],
)
def test_a_value_of_another_kind_is_refused(target, given):
    sizes = {"heads": 4, "length": 300, "dim": 64}
    (name,) = given
    with pytest.raises(ArgumentError, match=f"the call gives {name}=.*, which no configuration can have"):
        configs_for((*sizes, "block_M", "stages", "threads", "q_in_registers"), sizes, given, target, 5)


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda -arch=sm_90a", marks=needs_cuda)])
def test_arguments_of_numpy_are_integers(target):
    names = ("M", "N", "K", "block_M", "block_N", "block_K", "stages", "threads")
    sizes, given = {"M": 1024, "N": 1024, "K": 1024}, {"block_M": 192, "stages": 2}
    configs = configs_for(names, sizes, given, target, 3)
    as_numpy = [{name: np.int64(value) for name, value in values.items()} for values in (sizes, given)]
    assert configs_for(names, *as_numpy, target, 3) == configs
    attention = {"batch": 1, "heads": 4, "kv_heads": 2, "length": 300, "dim": 64, "is_causal": True}
    numbers = {name: np.int64(value) for name, value in attention.items()}
    parameters, flag = (*attention, "block_M", "q_in_registers"), {"q_in_registers": np.bool_(False)}
    assert configs_for(parameters, numbers, flag, target, 3) == configs_for(
        parameters, attention, {"q_in_registers": False}, target, 3
    )
    with pytest.raises(ArgumentError, match=r"block_M=.*0.*, which no"):
        configs_for(names, sizes, {"block_M": np.int64(0)}, target, 3)


@pytest.mark.parametrize("digits", [12, 400, 5000])
def test_a_value_that_is_too_large_is_refused(digits):
    with pytest.raises(ArgumentError, match=r"the call gives BM=.*, which no configuration can have") as caught:
        configs_for(GEMM, SIZES, {"BM": 10**digits}, "cpu", 5)
    assert caught.value.expected == "an integer from 1 to 2147483647"
    assert len(caught.value.message) < 200
    configs, departure = configs_for(GEMM, SIZES, {"BM": 2**31 - 1}, "cpu", 5)
    assert configs
    assert "has BM=2147483647" in departure


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "fixed",
    [
        {"threads": None}, {"stages": None}, {"threads": object()}, {"stages": [2]}, {"block_M": None},
        {"q_in_registers": 2}, {"q_in_registers": None}, {"q_in_registers": "True"}, {"width": "64"},
    ],
)  # fmt: skip
def test_what_no_configuration_can_have_is_refused_on_every_target(target, fixed):
    dtype = dtype_for(target)
    (name,) = fixed
    with pytest.raises(ArgumentError, match=f"fixed gives {name}=.*, which no configuration can have"):
        heuristics.attention(1, 2, 2, 64, 64, 64, dtype=dtype, target=target, fixed=fixed)
    if name in ("threads", "stages", "block_M"):
        with pytest.raises(ArgumentError, match=f"fixed gives {name}=.*, which no configuration can have"):
            heuristics.gemm(64, 64, 64, dtype, target=target, fixed=fixed)


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_of_numpy_are_integers(target):
    dtype = dtype_for(target)
    sizes, fixed = (64, 512, 256), {"block_M": 64}
    numbers = [np.int32(size) for size in sizes]
    proposals = heuristics.gemm(*numbers, dtype, target=target, count=np.int64(3), fixed={"block_M": np.int64(64)})
    assert proposals == heuristics.gemm(*sizes, dtype, target=target, count=3, fixed=fixed)
    assert all(type(proposal.config["block_M"]) is int for proposal in proposals)
    heads = heuristics.attention(*map(np.int64, (1, 4, 2, 300, 300, 64)), dtype=dtype, target=target)
    assert heads == heuristics.attention(1, 4, 2, 300, 300, 64, dtype=dtype, target=target)


@pytest.mark.parametrize("name", ["block_m", "BLOCK_M", "block_n"])
def test_a_name_in_another_case_is_named(name):
    with pytest.raises(ArgumentError) as caught:
        heuristics.gemm(64, 64, 64, "float32", target="cpu", fixed={name: 64})
    assert caught.value.hint == f"did you mean 'block_{name[-1].upper()}'?"
