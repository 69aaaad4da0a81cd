"""Kernels as files and as pickles: written here, loaded in a process that has no compiler; and what is no such file."""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import CacheError, TargetError, TilecoreError
from tilecore.jit.export import write_kernel

from .fresh_process import run
from .kit import compiled, same, sample, zeros
from .on_device import bare, ready

N = T.dynamic("n")


@T.prim_func
def plain(A: T.Tensor((5, 4), "float32"), B: T.Tensor((5, 4), "float32")):
    with T.Kernel(5, threads=32) as b:
        for j in T.Parallel(4):
            B[b, j] = A[b, j] * 2


@T.prim_func
def scaled(A: T.Tensor((N, 4), "float32"), s: T.float32, B: T.Tensor((N, 4), "float32")):
    with T.Kernel(N, threads=32) as b:
        tile = T.alloc_shared((4,), "float32")
        T.copy(A[b, 0:4], tile)
        for j in T.Parallel(4):
            B[b, j] = tile[3 - j] * s


A = sample("float32", (5, 4))


@functools.cache
def once(name, target, backend):
    return compiled({"plain": plain, "scaled": scaled}[name], target, out_idx=None if name == "plain" else -1)


def kernel_of(name, target):
    return bare(once(name, target, target.backend))


def test_a_loaded_kernel_is_the_same(target, tmp_path):
    kernel = kernel_of("scaled", target)
    loaded = tilecore.load_kernel(kernel.export(tmp_path / "scaled.tck", simulation=True))
    assert loaded.artifact == kernel.artifact
    assert repr(loaded) == repr(kernel)
    assert str(loaded.explain()) == str(kernel.explain())
    assert loaded.get_kernel_source() == kernel.get_kernel_source()
    for size in (5, 1, 0):
        same(np.asarray(ready(loaded)(A[:size], 2.0)), A[:size, ::-1] * 2)
    assert loaded.get_profiler().do_bench(n_warmup=1, n_repeat=1, dynamic_symbolic_constraints={"n": 5}) > 0
    with pytest.raises(TargetError, match="was loaded from a file, which has no tile IR"):
        loaded.get_tir()
    again = tilecore.load_kernel(loaded.export(tmp_path / "again.tck", simulation=True))
    assert again.artifact == kernel.artifact
    unpickled = pickle.loads(pickle.dumps(kernel))
    assert unpickled.artifact == kernel.artifact
    same(np.asarray(ready(unpickled)(A, 3.0)), A[:, ::-1] * 3)


PROGRAM = """
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tvm", "pytest"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
import tilecore
kernel = tilecore.load_kernel(sys.argv[1])
a, b = np.array(json.loads(sys.argv[2]), np.float32), np.zeros((5, 4), np.float32)
ready(kernel)(a, b)
print(json.dumps([repr(kernel), digest(kernel), b.tolist()]))
"""


def test_a_process_without_a_compiler_loads_and_runs_it(target, tmp_path):
    kernel = kernel_of("plain", target)
    path = kernel.export(tmp_path / "plain.tck", simulation=True)
    words, source, result = json.loads(run(PROGRAM, str(path), json.dumps(A.tolist())))
    assert words == repr(kernel)
    assert source == hashlib.sha256(kernel.get_kernel_source().encode()).hexdigest()
    same(np.array(result, np.float32), A * 2)


def test_files_that_are_no_kernels(target, tmp_path):
    """Cut anywhere, or a bit of them another."""
    path = kernel_of("plain", target).export(tmp_path / "plain.tck", simulation=True)
    data = path.read_bytes()
    assert len(data) > 500
    for end in {0, 1, 40, 300, len(data) // 2, len(data) - 20, len(data) - 1}:
        path.write_bytes(data[:end])
        with pytest.raises(CacheError, match="is not an exported kernel, or is damaged"):
            tilecore.load_kernel(path)
    bits = (data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :] for at in range(0, len(data), len(data) // 97))
    for wrong in (*bits, data + b"x", b"hello"):
        path.write_bytes(wrong)
        with pytest.raises(CacheError, match="is not an exported kernel, or is damaged"):
            tilecore.load_kernel(path)
    path.write_bytes(data)
    tilecore.load_kernel(path)


def loading(artifact, tmp_path):
    """Loads and calls a kernel of this record."""
    kernel = tilecore.load_kernel(write_kernel(artifact, tmp_path / "k"))
    ready(kernel)(A, zeros("float32", (5, 4)))


def test_kernels_for_something_else(target, tmp_path):
    artifact = kernel_of("plain", target).artifact
    kind = artifact.target.split()[0]
    for changes, message in (
        ({"target": "elsewhere -x=1"}, "no installed backend offers the target 'elsewhere'"),
        ({"target": f"{kind} -no_such_attribute=3"}, "no attribute 'no_such_attribute'"),
        ({"adapter": "elsewhere"}, "execution_backend='elsewhere', which .* does not have"),
    ):
        with pytest.raises(TargetError, match=message):
            loading(replace(artifact, **changes), tmp_path)


def test_what_the_device_cannot_load(target, tmp_path):
    """A file that is whole, around a binary, or a source where that is loaded, which is none."""
    artifact = kernel_of("plain", target).artifact
    if artifact.binary:
        tries = [{"binary": bytes(4096)}, {"binary": b"\x7fELF" + bytes(4092)}, {"binary_format": "no_such_format"}]
    else:
        tries = [{"source": "this is no program {"}, {"source": ""}]
    for changes in tries:
        with pytest.raises(Exception) as caught:
            loading(replace(artifact, **changes), tmp_path)
        error = caught.value
        if "binary_format" in changes:
            assert "'no_such_format', which its execution backend does not load" in str(error)
        assert isinstance(error, TilecoreError), f"not an error of tilecore's: {type(error).__name__}: {error}"
    loading(artifact, tmp_path)
