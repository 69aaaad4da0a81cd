"""Inputs that are made up: sizes, strides, element types and the values of every kind."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import ScalarParam, TensorParam
from tilecore.dtypes import FACTS
from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.profiler.arrays import as_numpy
from tilecore.profiler.supply import TensorSupplyType, allocate, fill, known_sizes, supply
from tilecore.testing.null_backend import NullAdapter

ADAPTER = NullAdapter()
RANDOM = (TensorSupplyType.Uniform, TensorSupplyType.Normal, TensorSupplyType.Randn)
LIBRARIES = ["numpy", "torch"]


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Tensors of numpy (torch not installed) and of torch."""
    if request.param == "numpy":
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        pytest.importorskip("torch")
    return request.param


def param(dtype, shape=(64, 32), **more):
    packed = 2 if DType(dtype).bits < 8 else 1
    return TensorParam("A", dtype, shape, packed=packed, **more)


def values(dtype, kind, **more):
    """The values as floats, pairs of 4-bit numbers taken apart."""
    array = as_numpy(supply(param(dtype, **more), ADAPTER, {}, kind))
    if DType(dtype).bits == 4:
        raw = array.view(np.uint8).astype(np.int32)
        halves = np.stack([raw & 15, raw >> 4])
        if dtype == "float4_e2m1fn":
            return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[halves & 7] * np.where(halves & 8, -1, 1)
        return np.where(halves > 7, halves - 16, halves) if dtype == "int4" else halves
    return array.astype(np.float64)


def test_the_kinds_are_numbered_as_everywhere():
    assert {kind.name: kind.value for kind in TensorSupplyType} == {
        "Integer": 1, "Uniform": 2, "Normal": 3, "Randn": 4, "Zero": 5, "One": 6, "Auto": 7,
    }  # fmt: skip


@pytest.mark.parametrize("dtype", FACTS)
def test_tensors_of_every_type_have_the_storage_that_kernels_take(library, dtype):
    tensor = supply(param(dtype), ADAPTER, {}, TensorSupplyType.Auto)
    assert type(tensor).__module__.partition(".")[0] == library
    if DType(dtype).bits < 8:
        assert tuple(tensor.shape) == (64, 16)
        assert str(tensor.dtype).removeprefix("torch.") == FACTS[dtype].torch
    else:
        assert tuple(tensor.shape) == (64, 32)
        assert str(tensor.dtype).removeprefix("torch.") in (FACTS[dtype].torch, FACTS[dtype].numpy)


WITH_SIGN = [name for name, facts in FACTS.items() if not facts.is_scale]


@pytest.mark.parametrize("dtype", WITH_SIGN)
def test_zero_and_one(library, dtype):
    assert np.all(values(dtype, TensorSupplyType.Zero) == 0)
    assert np.all(values(dtype, TensorSupplyType.One) == 1)


@pytest.mark.parametrize("dtype", WITH_SIGN)
def test_integers_are_small_and_vary(library, dtype):
    distinct = set(np.unique(values(dtype, TensorSupplyType.Integer)))
    kind = FACTS[dtype].kind
    assert distinct == {"uint": {0, 1, 2}, "bool": {0, 1}}.get(kind, {-2, -1, 0, 1, 2})
    if kind != "float":
        for other in (*RANDOM, TensorSupplyType.Auto):
            assert set(np.unique(values(dtype, other))) == distinct


@pytest.mark.parametrize("dtype", [name for name in WITH_SIGN if FACTS[name].kind == "float"])
def test_floats_have_the_distribution(library, dtype):
    for kind in (TensorSupplyType.Uniform, TensorSupplyType.Auto):
        sample = values(dtype, kind)
        assert -1 <= sample.min() < -0.8
        assert 0.8 < sample.max() <= 1
        assert abs(sample.mean()) < 0.1
    for kind, mean in ((TensorSupplyType.Normal, -1), (TensorSupplyType.Randn, 0)):
        sample = values(dtype, kind)
        assert abs(sample.mean() - mean) < 0.15
        assert abs(sample.std() - 1) < 0.15


def test_scales_are_powers_of_two(library):
    assert np.all(values("float8_e8m0fnu", TensorSupplyType.Zero) == 2.0**-127)
    assert np.all(values("float8_e8m0fnu", TensorSupplyType.One) == 1)
    sample = values("float8_e8m0fnu", TensorSupplyType.Auto)
    assert {0.25, 0.5, 1.0} <= set(np.unique(sample))
    assert sample.max() == 1
    assert np.all(np.frexp(sample)[0] == 0.5)


def test_the_libraries_random_state_decides(library):
    from tilecore.testing import set_random_seed

    def draw(seed):
        set_random_seed(seed)
        return values("float32", TensorSupplyType.Auto)

    assert np.array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


def test_strides_are_kept(library):
    tensor = supply(param("float32", (4, 6), strides=(10, 1)), ADAPTER, {}, TensorSupplyType.One)
    stride = tensor.stride() if library == "torch" else tuple(s // 4 for s in tensor.strides)
    assert (tuple(tensor.shape), stride) == ((4, 6), (10, 1))
    assert np.all(as_numpy(tensor) == 1)
    packed = allocate(param("int4", (4, 6), strides=(10, 1)), ADAPTER, {})
    stride = packed.stride() if library == "torch" else packed.strides
    assert (tuple(packed.shape), stride) == ((4, 3), (5, 1))
    assert tuple(allocate(param("int8", (0, 6), strides=(10, 1)), ADAPTER, {}).shape) == (0, 6)


def test_sizes_that_depend_on_symbols():
    shape = (DimExpr("n"), DimExpr(("*", "n", 2)))
    assert tuple(allocate(param("int8", shape), ADAPTER, {"n": 3}).shape) == (3, 6)
    with pytest.raises(ArgumentError, match="the size n is not known"):
        allocate(param("int8", shape), ADAPTER, {"m": 3})


def test_scalars_are_given_or_one():
    assert supply(ScalarParam("scale", "float32"), ADAPTER, {}, TensorSupplyType.Auto) == 1.0
    assert supply(ScalarParam("n", "int32"), ADAPTER, {"n": 7}, TensorSupplyType.Auto) == 7
    with pytest.raises(ArgumentError, match="the value of the parameter n must be given"):
        supply(ScalarParam("n", "int32"), ADAPTER, {}, TensorSupplyType.Auto)


def test_missing_and_unknown_sizes_are_named(dynamic, returning):
    artifact = dynamic.artifact
    assert known_sizes(artifact, {"n": 4, "m": 2, "step": 1}) == {"n": 4, "m": 2, "step": 1}
    with pytest.raises(ArgumentError) as caught:
        known_sizes(artifact, {"n": 4})
    assert "its sizes m are known only at a call" in str(caught.value)
    assert 'expected: dynamic_symbolic_constraints={"m": 1024}' in str(caught.value)
    with pytest.raises(ArgumentError, match="shift: there is no size k"):
        known_sizes(artifact, {"n": 4, "m": 2, "k": 5})
    with pytest.raises(ArgumentError, match="did you mean 'step'"):
        known_sizes(artifact, {"n": 4, "m": 2, "stepp": 5})
    with pytest.raises(ArgumentError, match="no sizes: all are fixed"):
        known_sizes(returning.artifact, {"n": 4})


def test_tensors_of_other_libraries_are_refused():
    class Strange:
        shape = (2,)

    with pytest.raises(UnsupportedError, match="a Strange cannot be filled"):
        fill(Strange(), param("int8"), TensorSupplyType.Zero)
