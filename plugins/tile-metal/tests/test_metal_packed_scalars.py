"""Kernels with more parameters than Metal has slots for buffers get their scalars as one structure."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import tilecore
from tilecore.errors import LimitError

TYPES = ("int32", "int64", "float32", "uint8", "float16", "bfloat16", "bool", "int16", "uint64", "float8_e4m3fn")
VALUES = (-(2**31), 2**40 + 2**20, -0.1, 255, 1.5, -2.5, True, -3, 2**53, 0.875)
COUNT = 30  # of scalars


def kernel_of(folder: Any, tensors: int, count: int = COUNT) -> Any:
    """A kernel of ``tensors`` tensors of one element and ``count`` scalars, which go into the first tensor."""
    names = [f"s{i}" for i in range(count)]
    outputs = [f"P{i}: T.Tensor((1,), 'float32')" for i in range(1, tensors)]
    scalars = [f"{name}: T.{TYPES[i % len(TYPES)]}" for i, name in enumerate(names)]
    lines = [
        "import tilecore.language as T",
        "@T.prim_func",
        f"def many(O: T.Tensor(({count},), 'float32'), {', '.join([*outputs, *scalars])}):",
        "    with T.Kernel(1, threads=64):",
        *(f"        O[{i}] = T.cast({name}, 'float32')" for i, name in enumerate(names)),
        *(f"        P{i}[0] = {i}" for i in range(1, tensors)),
    ]
    path = folder / f"many_{tensors}_{count}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.many


def arguments(tensors: int) -> list[np.ndarray]:
    return [np.zeros(COUNT, np.float32), *(np.zeros(1, np.float32) for _ in range(1, tensors))]


def test_scalars_share_a_slot_where_there_are_too_many(tmp_path):
    kernel = tilecore.compile(kernel_of(tmp_path, 3), target="metal", execution_backend="sim")
    source = kernel.get_kernel_source()
    symbol = kernel.artifact.entries[0].symbol
    assert f"struct {symbol}_scalars {{ long words[30]; }};" in source
    assert f"constant {symbol}_scalars& tc_scalars [[buffer(3)]]" in source
    assert kernel.artifact.entries[0].attributes["packed_scalars"] is True
    tensors = arguments(3)
    kernel(*tensors, *(VALUES[i % len(VALUES)] for i in range(COUNT)))
    expected = [np.float32(VALUES[i % len(VALUES)]) for i in range(COUNT)]
    np.testing.assert_array_equal(tensors[0], expected)
    assert [float(t[0]) for t in tensors[1:]] == [1.0, 2.0]


def test_torch_gets_a_list_of_numbers(tmp_path, torch_mps):
    import torch
    from fake_mps import mps

    kernel = tilecore.compile(kernel_of(tmp_path, 3), target="metal", execution_backend="torch")
    tensors = [mps(torch.from_numpy(tensor)) for tensor in arguments(3)]
    kernel(*tensors, *(VALUES[i % len(VALUES)] for i in range(COUNT)))
    expected = [np.float32(VALUES[i % len(VALUES)]) for i in range(COUNT)]
    np.testing.assert_array_equal(tensors[0].cpu().numpy(), expected)
    ((_, given, _, _, casts),) = torch_mps.calls
    assert casts is None
    assert len(given) == 4
    assert isinstance(given[3], list)


def test_more_tensors_than_slots_are_an_error(tmp_path):
    with pytest.raises(LimitError, match="more parameters than a Metal kernel can have") as failure:
        tilecore.compile(kernel_of(tmp_path, 31), target="metal", execution_backend="sim")
    assert failure.value.found == "31 tensors and workspaces, one slot for scalars and sizes"


def test_more_scalars_than_a_slot_has_room_for(tmp_path):
    """Metal ends the process where setBytes gets more than 4 KiB."""
    with pytest.raises(LimitError, match="more scalars than a Metal kernel can have") as failure:
        tilecore.compile(kernel_of(tmp_path, 1, 513), target="metal", execution_backend="sim")
    assert failure.value.found == "513 scalars and sizes"
