"""kernel.export and tilecore.load_kernel: the files themselves, and what the host's processor cannot run."""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from fresh_processes import output_of

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import target as cpu_target
from tilecore.errors import CacheError, LaunchError, TargetError, TilecoreError
from tilecore.jit.export import read_kernel, write_kernel

N = T.dynamic("n")


@pytest.fixture(scope="module")
def kernel(module_cache):
    @T.prim_func
    def scaled(A: T.Tensor((N, 4), "float32"), s: T.float32, B: T.Tensor((N, 4), "float32")):
        with T.Kernel(N) as b:
            for j in T.Parallel(4):
                B[b, j] = T.exp(A[b, j] * s)

    return tilecore.compile(scaled, target="cpu", out_idx=-1)


@pytest.fixture
def path(kernel, tmp_path):
    return kernel.export(tmp_path / "scaled.tck")


A = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def test_it_loads_and_runs_where_neither_tvm_nor_torch_can_be_imported(path):
    script = textwrap.dedent(
        """
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("tvm", "tvm_ffi", "torch", "pytest"):
                    raise ImportError(f"{name} is blocked")

        sys.meta_path.insert(0, Blocker())
        import numpy as np
        import tilecore
        kernel = tilecore.load_kernel(sys.argv[1])
        a = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_allclose(kernel(a, 2.0), np.exp(a * 2), rtol=1e-6)
        print(kernel, type(kernel(a, 1.0)).__name__, "tvm" in sys.modules)
        """
    )
    assert output_of(script, path) == "<JITKernel scaled(A, s, B) on cpu, native> ndarray False\n"


def test_writing_replaces_and_leaves_nothing_else(kernel, tmp_path):
    path = tmp_path / "k"
    path.write_text("old")
    assert kernel.export(str(path)) == path
    assert read_kernel(path) == kernel.artifact
    assert os.listdir(tmp_path) == ["k"]
    umask = os.umask(0o027)
    try:
        assert kernel.export(tmp_path / "m").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(umask)


def test_a_relative_path(kernel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kernel.export("here.tck")
    assert tilecore.load_kernel("here.tck").artifact == kernel.artifact


@pytest.mark.parametrize("place", ["folder", "file/k", "file/folder/k"])
def test_what_cannot_be_written(kernel, tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(CacheError, match="cannot be written"):
        kernel.export(tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_folders_that_are_missing_are_made(kernel, tmp_path):
    path = kernel.export(tmp_path / "missing" / "too" / "k.tck")
    assert tilecore.load_kernel(path).artifact == kernel.artifact


def test_a_bundle_is_no_exported_kernel(tmp_path):
    path = tmp_path / "kernels.tcb"
    path.write_bytes(b"tilecore-bundle 2 2 3\nunsigned\n")
    with pytest.raises(CacheError, match=r"kernels\.tcb is not an exported kernel") as caught:
        tilecore.load_kernel(path)
    assert "found: a bundle, a file with many kernels" in str(caught.value)
    assert f"tilecore.load_bundle({str(path)!r})" in str(caught.value)


def test_an_entry_of_the_cache_is_no_exported_kernel(kernel, tmp_path):
    from tilecore.compilation_cache.entry_format import encode

    (tmp_path / "entry").write_bytes(encode("a" * 64, kernel.artifact))
    with pytest.raises(CacheError, match="it holds another key"):
        tilecore.load_kernel(tmp_path / "entry")


def test_files_of_another_version_say_so(kernel, tmp_path):
    path = write_kernel(kernel.artifact, tmp_path / "k")
    path.write_bytes(path.read_bytes().replace(b"tilecore-entry 2 ", b"tilecore-entry 1 ", 1))
    with pytest.raises(CacheError, match="it has format 1 of another version") as caught:
        tilecore.load_kernel(path)
    assert "export the kernel again" in caught.value.hint


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CacheError, match="pipe is not an exported kernel"):
        tilecore.load_kernel(tmp_path / "pipe")


@pytest.mark.parametrize("place", ["missing", "."])
def test_files_that_cannot_be_read(tmp_path, place):
    with pytest.raises(CacheError, match="cannot be read"):
        tilecore.load_kernel(tmp_path / place)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"target": "cpu -features=avx9000"}, TargetError, "the extension 'avx9000' is not known"),
        ({"binary_format": "cubin"}, TilecoreError, "'cubin'"),
        ({"binary": b"\x7fELF"}, TilecoreError, "object file"),
    ],
    ids=["a later release's processor", "format", "binary"],
)
def test_kernels_that_do_not_run_here(kernel, tmp_path, changes, kind, message):
    path = write_kernel(replace(kernel.artifact, **changes), tmp_path / "k")
    with pytest.raises(kind, match=message):
        tilecore.load_kernel(path)


def test_the_processors_missing_extensions_are_named(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_target, "host_features", lambda: ("avx2", "fma"))
    path = write_kernel(replace(kernel.artifact, target="cpu -features=fma,avx512bw,avx512f"), tmp_path / "k")
    with pytest.raises(LaunchError, match="cannot run with execution_backend='native' here") as caught:
        tilecore.load_kernel(path)
    assert caught.value.found == "this processor has no avx512bw, avx512f"
    assert str(caught.value.expected).startswith("a machine that runs cpu -")
    assert "tilecore targets" in str(caught.value.hint)
