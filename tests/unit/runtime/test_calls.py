"""Calls of a compiled kernel with what users really pass: every kind of tensor, and what is refused before it runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError

M = T.dynamic("M")


@T.prim_func
def scale(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32"), s: T.float32):
    with T.Kernel(T.ceildiv(M, 2)) as b:
        for i, j in T.Parallel(2, 4):
            B[b * 2 + i, j] = A[b * 2 + i, j] * s


@T.prim_func
def swap(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1):
        for i in T.Parallel(4):
            a = A[i]
            b = B[i]
            A[i] = b
            B[i] = a


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """(all arguments passed, the output allocated, one that writes both)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield (
            tilecore.compile(scale, target="cpu"),
            tilecore.compile(scale, target="cpu", out_idx=1),
            tilecore.compile(swap, target="cpu"),
        )


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
    made = kernels[1](value, 2)
    assert type(made) is (np.ndarray if isinstance(value, np.ndarray) else torch.Tensor)
    np.testing.assert_array_equal(np.asarray(made), ARRAY * 2)


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
            made = kernels[1](tensor, 2)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (made.dtype, made.device.type) == (torch.float32, "cpu")
    torch.testing.assert_close(made, tensor * 2)


def test_no_rows_at_all(kernels):
    made = kernels[1](np.zeros((0, 4), np.float32), 2)
    assert made.shape == (0, 4)
    kernels[0](torch.zeros(0, 4), torch.zeros(0, 4), 1.0)
    with pytest.raises(ArgumentError, match=r"A.shape\[1\] is 0, expected 4"):
        kernels[1](np.zeros((4, 0), np.float32), 2)


def test_in_place_and_by_name(kernels):
    array = ARRAY.copy()
    assert kernels[0](array, array, 3) is None
    assert (array == ARRAY * 3).all()
    out = np.zeros_like(ARRAY)
    kernels[0](s=2, B=out, A=ARRAY)
    assert (out == ARRAY * 2).all()


def misaligned(shape):
    return np.frombuffer(bytearray(4 * 12 + 1), np.float32, 12, 1).reshape(shape)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: misaligned((3, 4)), "the data of A is not aligned"),
        (lambda: ARRAY[:, ::-1], "A is not contiguous"),
        (lambda: ARRAY.T.copy().T, "A is not contiguous"),
        (lambda: np.broadcast_to(ARRAY[:1], (3, 4)), "A is not contiguous"),
        (lambda: ARRAY.astype(">f4"), "its bytes are in the other order"),
        (lambda: ARRAY.astype(np.float16), "A has the wrong dtype"),
        (lambda: ARRAY[0], "A has 1 axis, 2 expected"),
        (lambda: np.float32(1), "A must be a tensor"),
        (lambda: np.array(1, np.float32), "A has 0 axes, 2 expected"),
        (lambda: torch.tensor(1.0), "A has 0 axes, 2 expected"),
        (lambda: ARRAY.tolist(), "A must be a tensor"),
        (lambda: None, "A must be a tensor"),
        (lambda: memoryview(ARRAY), "A must be a tensor"),
        (lambda: torch.zeros(3, 4, device="meta"), "it is on the meta device"),
        (lambda: torch.zeros(3, 4).to_sparse(), "its layout is sparse_coo"),
        (lambda: torch.nested.nested_tensor([torch.zeros(3, 4)]), "torch gives no access to its memory"),
        (lambda: torch.zeros(3, 5), r"A.shape\[1\] is 5, expected 4"),
    ],
)
def test_what_is_refused_is_refused_before_anything_runs(kernels, make, message):
    out = np.full((3, 4), 7, np.float32)
    with pytest.raises(ArgumentError, match=message):
        kernels[0](make(), out, 1.0)
    assert (out == 7).all()


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_the_number_of_arguments(kernels, count):
    with pytest.raises(ArgumentError, match=r"scale\(\) takes 3 arguments \(A, B, s\), \d w"):
        kernels[0](*[ARRAY] * count)


@pytest.mark.parametrize("value", ["2", None, [2.0], np.zeros(1), 1e300, 2j])
def test_scalars_that_do_not_fit(kernels, value):
    with pytest.raises(ArgumentError, match="s does not take this value"):
        kernels[1](ARRAY, value)


@pytest.mark.parametrize("value", [2, 2.0, True, np.float16(2), np.array(2), torch.tensor(2), torch.tensor(2.0)])
def test_scalars_of_every_kind(kernels, value):
    assert (kernels[1](ARRAY, value) == ARRAY * float(value)).all()


def test_outputs_that_overlap(kernels):
    base = np.arange(8, dtype=np.int32)
    for a, b in ((base[:4], base[:4]), (base[:4], base[2:6]), (torch.from_numpy(base)[1:5], base[:4])):
        with pytest.raises(ArgumentError, match="and the kernel writes both"):
            kernels[2](a, b)
    kernels[2](base[:4], base[4:])
    assert base.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
    tall = np.zeros((5, 4), np.float32)
    with pytest.raises(ArgumentError, match="B and A share a part of their memory, and the kernel writes B"):
        kernels[0](tall[:4], tall[1:], 1.0)
