"""Calls of a compiled kernel with every kind of tensor; what is refused is in the conformance kit."""

from __future__ import annotations

import numpy as np
import pytest
from launch_kit import torch

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError

M = T.dynamic("M")


@T.prim_func
def scale(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32"), s: T.float32):
    with T.Kernel(T.ceildiv(M, 2)) as b:
        for i, j in T.Parallel(2, 4):
            B[b * 2 + i, j] = A[b * 2 + i, j] * s


@pytest.fixture(scope="module")
def kernels(module_cache):
    """(all arguments passed, the output allocated)."""
    return tilecore.compile(scale, target="cpu"), tilecore.compile(scale, target="cpu", out_idx=1)


ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


class Subclass(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "value",
    [
        ARRAY,
        ARRAY[::1],
        ARRAY.view(np.recarray),
        torch.from_numpy(ARRAY),
        torch.from_numpy(ARRAY).requires_grad_(),
        torch.nn.Parameter(torch.from_numpy(ARRAY)),
        torch.from_numpy(ARRAY).as_subclass(Subclass),
        torch.from_numpy(np.pad(ARRAY, ((2, 1), (0, 0))))[2:5],
    ],
    ids=["array", "view", "another class", "tensor", "requires grad", "parameter", "subclass", "rows of another"],
)
def test_tensors_of_every_kind(kernels, value):
    with torch.no_grad():
        output = kernels[1](value, 2)
    assert type(output) is (np.ndarray if isinstance(value, np.ndarray) else torch.Tensor)
    np.testing.assert_array_equal(np.asarray(output), ARRAY * 2)


def test_a_file_in_memory(kernels, tmp_path):
    mapped = np.memmap(tmp_path / "a", np.float32, "w+", shape=(3, 4))
    mapped[:] = ARRAY
    assert (kernels[1](mapped, 2) == ARRAY * 2).all()
    read = np.memmap(tmp_path / "a", np.float32, "r", shape=(3, 4))
    assert (kernels[1](read, 2) == ARRAY * 2).all()
    with pytest.raises(ArgumentError, match="B is written by the kernel, but it is read-only"):
        kernels[0](ARRAY, read, 1.0)


def test_torchs_modes_and_defaults_do_not_change_the_outputs(kernels):
    tensor = torch.from_numpy(ARRAY)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode(), torch.device("meta"):
            output = kernels[1](tensor, 2)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (output.dtype, output.device.type) == (torch.float32, "cpu")
    torch.testing.assert_close(output, tensor * 2)


def test_no_rows_at_all(kernels):
    output = kernels[1](np.zeros((0, 4), np.float32), 2)
    assert output.shape == (0, 4)
    kernels[0](torch.zeros(0, 4), torch.zeros(0, 4), 1.0)
    with pytest.raises(ArgumentError, match=r"A.shape\[1\] is 0, expected 4"):
        kernels[1](np.zeros((4, 0), np.float32), 2)


@pytest.mark.parametrize("value", [2, 2.0, True, np.float16(2), np.array(2), torch.tensor(2), torch.tensor(2.0)])
def test_scalars_of_every_kind(kernels, value):
    assert (kernels[1](ARRAY, value) == ARRAY * float(value)).all()
