"""SophGo's torch_tpu is told from another package of its name, and launches kernels through a fake operation."""

from __future__ import annotations

import ctypes
import os
import sys

import numpy as np
import pytest
from tile_tpu.adapter import TorchTpuAdapter
from tile_tpu.card import torch_tpu

from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam, Workspace
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.target import Target

TARGET = Target("tpu", {"chip": "bm1690", "cores": 8})
HOST = 1


def package(tmp_path, monkeypatch, author="", code="", jit=""):
    """A package torch_tpu on sys.path."""
    folder = tmp_path / "site" / "torch_tpu"
    (folder / "tpu").mkdir(parents=True)
    (folder / "__init__.py").write_text(code)
    (folder / "tpu" / "jit.py").write_text(jit)
    facts = tmp_path / "site" / "torch_tpu-2.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch_tpu\nVersion: 2.1.0\nAuthor: {author}\n")
    monkeypatch.syspath_prepend(os.fspath(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "torch_tpu", raising=False)
    return folder


def test_not_installed():
    if torch_tpu.installed().folder is not None:
        pytest.skip("there is a torch_tpu")
    presence = TorchTpuAdapter().available(TARGET)
    assert not presence.present
    assert "not installed" in presence.detail
    assert "not from PyPI" in presence.detail


@pytest.mark.parametrize(("author", "jit"), [("sophgo", ""), ("", "torch.ops.my_ops.dynlib_execute(...)")])
def test_sophgo_s(tmp_path, monkeypatch, author, jit):
    folder = package(tmp_path, monkeypatch, author, "raise RuntimeError('it is not to be imported')", jit)
    installed_package = torch_tpu.installed()
    assert (installed_package.folder, installed_package.version, installed_package.is_sophgo) == (folder, "2.1.0", True)
    assert TorchTpuAdapter().available(TARGET).present
    assert not TorchTpuAdapter().available(TARGET.with_attributes(chip="bm1684x")).present


def test_somebody_else_s(tmp_path, monkeypatch):
    package(tmp_path, monkeypatch, "Another Vendor")
    presence = TorchTpuAdapter().available(TARGET)
    assert not presence.present
    assert "by Another Vendor, not SophGo's" in presence.detail
    with pytest.raises(LaunchError, match="not SophGo's"):
        TorchTpuAdapter().load(artifact())


def test_one_that_registers_nothing(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    package(tmp_path, monkeypatch, "sophgo")
    import torch

    if "dynlib_execute" in dir(torch.ops.my_ops):
        pytest.skip("another test has registered it")
    with pytest.raises(LaunchError, match="registers no my_ops::dynlib_execute"):
        TorchTpuAdapter().load(artifact())


def artifact(scalars=()):
    params = (TensorParam("X", "float16", (3, 4), (8, 2), "r"), TensorParam("Y", "int32", (5,), None, "w"), *scalars)
    fields = {"fields": ["handle"] * 3}
    entries = (Entry("a_kernel", (2, 1, 1), attributes=fields), Entry("b_kernel", (0, 1, 1), attributes=fields))
    workspaces = (Workspace("W", "uint8", (7,)),)
    return Artifact(
        "k", str(TARGET), "tile-tpu", "torch_tpu", params, (), workspaces, entries, (), "", "c", b"so", "firmware"
    )


def test_kernels_with_numbers_are_refused():
    with pytest.raises(UnsupportedError, match="takes scalars") as caught:
        TorchTpuAdapter().load(artifact((ScalarParam("n", "int32"),)))
    assert caught.value.found == "scalars and sizes: n"


def test_a_launch(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    seen = []
    types = "str a, str b, Tensor[] c, int[] d, float[] e, int[] f, int[] g, int[] h"
    registry = torch.library.Library("my_ops", "FRAGMENT")
    registry.define(f"dynlib_execute({types}) -> ()")
    registry.impl("dynlib_execute", lambda *args: seen.append(args), "CPU")
    package(tmp_path, monkeypatch, "sophgo")
    adapter = TorchTpuAdapter()
    adapter.device = HOST
    loaded = adapter.load(artifact())
    x = np.arange(24, dtype=np.float16)
    y, w = np.arange(5, dtype=np.int32), np.zeros(7, np.uint8)
    slots = (ctypes.c_int64 * 3)(x.ctypes.data, y.ctypes.data, w.ctypes.data)
    grids = (ctypes.c_int64 * 8)(2, 1, 1, 0, 0, 1, 1, 0)
    assert loaded.launch(ctypes.addressof(slots), ctypes.addressof(grids), 0, 0) == 0
    ((path, name, tensors, places, floats, float_places, ints, int_places),) = seen
    assert name == "a_kernel"  # the other has no blocks
    with open(path, "rb") as file:
        assert file.read() == b"so"
    assert list(places) == [0, 1, 2]
    assert [*floats, *float_places, *ints, *int_places] == []
    assert [tuple(t.shape) for t in tensors] == [(3, 4), (5,), (7,)]
    assert [t.data_ptr() for t in tensors] == [x.ctypes.data, y.ctypes.data, w.ctypes.data]
    assert np.array_equal(tensors[0].numpy(), x.reshape(3, 8)[:, ::2])
    assert [t.dtype for t in tensors] == [torch.float16, torch.int32, torch.uint8]


def test_where_numbers_go():
    seen = []
    torch_tpu.execute(lambda *args: seen.append(args), "k.so", "k_kernel", ["x", "y"], [3, 2.5, 4])
    assert seen == [("k.so", "k_kernel", ["x", "y"], [0, 1], [2.5], [3], [3, 4], [2, 4])]
