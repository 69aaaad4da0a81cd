"""Calls with arguments that do not match the kernel's declarations, and kernels that do not end."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from error_kernels import endless, halves

import tilecore
from tilecore.errors import ArgumentError, LaunchError


@pytest.fixture(scope="module")
def kernel():
    return tilecore.compile(halves, target="tpu", execution_backend="sim")


def tensor(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def odd_address() -> np.ndarray:
    memory = np.zeros(67 + 64, np.uint8)
    start = 1 - memory.ctypes.data % 2
    return memory[start : start + 66].view(np.float16)


WRONG = {
    "dtype": (lambda: tensor(33).float(), ["A has the wrong dtype", "found: float32", "expected: float16"]),
    "shape": (lambda: tensor(32), [r"A.shape[0] is 32, expected 33", "(33,)"]),
    "rank": (lambda: tensor(33, 1), ["(33, 1)"]),
    "stride": (lambda: tensor(66)[::2], ["A is not contiguous", "strides (2,)", "A.contiguous()"]),
    "device": (lambda: tensor(33).to("meta"), ["A cannot be used", "meta device"]),
    "alignment": (odd_address, ["the data of A is not aligned", "1 bytes past a multiple of 2", "A.copy()"]),
    "None": (lambda: None, ["A must be a tensor", "float16 tensor of shape (33,)"]),
    "number": (lambda: 3, ["A must be a tensor"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tensors(kernel, name):
    make, words = WRONG[name]
    with pytest.raises(ArgumentError) as caught:
        kernel(make(), tensor(33))
    for word in words:
        assert word in str(caught.value)


def test_too_few(kernel):
    with pytest.raises(ArgumentError, match=r"takes 2 arguments \(A, B\), 1 was given"):
        kernel(tensor(33))


@pytest.mark.parametrize("first", [1, 3, 31])
def test_views_may_start_at_any_element(kernel, first):
    """DMA accepts any address, so views need only the alignment of their type."""
    whole, out = torch.arange(80).half(), torch.zeros(80).half()
    kernel(whole[first : first + 33], out[first + 1 : first + 34])
    assert torch.equal(out[first + 1 : first + 34], whole[first : first + 33] + 1)
    assert not out[: first + 1].any()
    assert not out[first + 34 :].any()


def test_a_kernel_that_does_not_end(monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE_TIMEOUT", "1")
    kernel = tilecore.compile(endless, target="tpu", execution_backend="sim")
    x, out = np.ones(4, np.int32), np.zeros(4, np.int32)
    start = time.monotonic()
    with pytest.raises(LaunchError, match=r"endless_kernel.*does not end") as caught:
        kernel(x, out)
    assert time.monotonic() - start < 60
    assert "at most 1.0 s" in str(caught.value)
    assert "TILECORE_SIMULATE_TIMEOUT" in caught.value.hint
    kernel(np.zeros(4, np.int32), out)  # the process goes on
