"""Programs find the kernels of TILECORE_CACHE_PATH instead of compiling them, other users too."""

from __future__ import annotations

import os
import shutil
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from bundle_kit import KERNELS, as_user, reachable_for_all
from fresh_processes import output_of

import tilecore
from tilecore.bundles import layers
from tilecore.cache import CacheWarning
from tilecore.cli import main
from tilecore.jit import build_jobs, request

compiling = import_module("tilecore.jit.compile")  # the package's attribute of this name is the function

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
STRANGER, NOBODY = 12345, 65534


FRESH = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
import bundled_kernels as kernels

a = np.ones((16, 8), "float32")
assert (kernels.add(16, 8)(a, a) == 2).all()
a = np.ones((32, 8), "float32")
assert (kernels.add(32, 8)(a, a) == 2).all()
assert (kernels.scaled(np.ones((6, 8), "float32")) == 2).all()
print(sorted({"tvm", "tvm_ffi", "torch"} & {*sys.modules}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the kernels' file, a bundle of it, and the cache that a program with these kernels has left."""
    path = tmp_path_factory.mktemp("built")
    (path / "bundled_kernels.py").write_text(KERNELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(path / "other cache"))
        patch.chdir(path)
        with pytest.raises(SystemExit) as ended:
            main(["compile", "bundled_kernels.py", "--target", "cpu;cpu -march=generic", "-o", "kernels.tcb"])
    assert ended.value.code == 0
    output_of(FRESH, folder=path, TILECORE_CACHE_DIR=str(path / "cache"))
    (path / "kernels.tcb").chmod(0o644)
    return path


@pytest.fixture
def kernels(folder, load_module):
    return load_module(KERNELS)


@pytest.fixture
def no_compilation(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a kernel is compiled")

    monkeypatch.setattr(compiling, "build", refuse)
    monkeypatch.setattr(build_jobs, "build", refuse)


def use(kernels):
    """Call every kernel and check it; whether each came from a cache or bundle."""
    x = np.arange(48, dtype="float32").reshape(6, 8)
    np.testing.assert_array_equal(kernels.scaled(x), 2 * x)
    for size in (16, 32):
        a, b = (np.random.default_rng(seed).random((size, 8), dtype="float32") for seed in (1, 2))
        np.testing.assert_array_equal(kernels.add(size, 8)(a, b), a + b)
    return [kernels.add(16, 8).from_cache, kernels.add(32, N=8).from_cache, kernels.scaled.compile(x).from_cache]


@pytest.mark.parametrize("layer", ["kernels.tcb", "", "cache"], ids=["bundle", "folder of bundles", "cache"])
def test_a_fresh_process_compiles_nothing(folder, tmp_path, layer):
    """Neither TVM nor torch is imported, and nothing is stored."""
    path = str(folder / layer)
    cache = tmp_path / "own"
    printed = output_of(FRESH, folder=folder, TILECORE_CACHE_PATH=path, TILECORE_CACHE_DIR=str(cache))
    assert printed == "[]\n"
    assert not list(cache.glob("v1/entries/*/*"))


def test_kernels_are_found(folder, kernels, monkeypatch, no_compilation):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    assert use(kernels) == [True, True, True]
    found = tilecore.compile(kernels.twice, target="cpu")  # by its tile IR
    assert found.from_cache
    assert [kernel.from_cache for kernel in kernels.add.par_compile([(16, 8), (32, 8)])] == [True, True]
    assert kernels.add(4, 4, "int32").artifact.params[0].dtype == "int32"


def test_what_the_bundle_lacks_is_compiled(folder, kernels, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    assert not kernels.add(5, 5).from_cache
    assert not tilecore.compile(kernels.twice, target="cpu", pass_configs={"tl.disable_vectorize_256": True}).from_cache


def test_the_own_cache_comes_first(folder, kernels, monkeypatch):
    kernels.add(16, 8)
    kernels.add.forget_kernels()
    compiling._kernels.clear()
    monkeypatch.setattr(layers, "find", lambda *arguments: pytest.fail("the bundle was asked"))
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    assert kernels.add(16, 8).from_cache


def test_another_version_of_tilecore_does_not_use_them(folder, kernels, monkeypatch):
    monkeypatch.setattr(request, "portable_versions", lambda *arguments: {"tilecore": "99"})
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    assert not kernels.add(16, 8).from_cache


def test_a_bundle_of_another_version_is_told(folder, kernels, monkeypatch, tmp_path):
    from bundle_kit import kernel_of, written

    from tilecore.bundle_builder import write

    with monkeypatch.context() as patch:
        patch.setattr(write, "portable_versions", lambda *arguments: {"tilecore": "99"})
        path = written(tmp_path / "other.tcb", [kernel_of(1)])
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(path))
    given = warnings_of(lambda: use(kernels))
    assert len(given) == 1
    assert "compiled by tilecore 99" in given[0]
    assert "compile it again" in given[0]
    assert list(tilecore.load_bundle(path)) == ["make(1)"]


def test_the_best_target_is_used(folder, kernels, monkeypatch, no_compilation):
    """For processors that have as much the kernels of one of them; for one that has less those for every processor."""
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    assert kernels.add(16, 8).target.get("march") == "native"
    assert tilecore.compile(kernels.twice, target="cpu -model=Other-1-2").target.get("march") == "native"
    other = tilecore.compile(kernels.twice, target="cpu -march=x86-64")
    assert other.target.get("march") == "generic"
    assert other.artifact.target == str(other.target)
    a = np.arange(8, dtype="float32")
    b = np.zeros_like(a)
    other(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_a_cache_that_is_turned_off_has_no_layers(folder, kernels, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    assert not kernels.add(16, 8).from_cache


def test_a_bundle_that_the_program_adds(folder, kernels, no_compilation):
    with tilecore.load_bundle(folder / "kernels.tcb") as bundle:
        assert bundle.add_to_cache() is bundle
        assert use(kernels) == [True, True, True]
    assert not layers.are_there()


def test_bundles_are_asked_late(folder, kernels, monkeypatch):
    """Without TILECORE_CACHE_PATH nothing is computed for bundles."""
    monkeypatch.setattr(request, "portable_ir_key", lambda *arguments: pytest.fail("a key was computed"))
    assert not kernels.add(16, 8).from_cache


def warnings_of(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(warning.message) for warning in caught if issubclass(warning.category, CacheWarning)]


def test_a_damaged_kernel_is_compiled(folder, kernels, monkeypatch, tmp_path):
    with tilecore.load_bundle(folder / "kernels.tcb") as bundle:
        start = bundle._file._start
        binaries = [record.binary for record in bundle.kernels]
    data = bytearray((folder / "kernels.tcb").read_bytes())
    for binary in binaries:
        data[start + binary.offset + 5] ^= 1
    path = tmp_path / "damaged.tcb"
    path.write_bytes(data)
    path.chmod(0o644)
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(path))
    given = warnings_of(lambda: [use(kernels), tilecore.compile(kernels.twice, target="cpu")])
    assert len(given) == 1
    assert "does not match its digest" in given[0]


@pytest.mark.parametrize("name", ["nothing", "nothing.tcb", "bundled_kernels.py", "empty"])
def test_a_path_that_is_no_layer_is_told_once(folder, kernels, monkeypatch, name):
    (folder / "empty").mkdir(exist_ok=True)
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / name))
    given = warnings_of(lambda: use(kernels))
    assert len(given) == 1
    assert str(folder / name) in given[0]


def test_the_list_of_layers(folder, kernels, monkeypatch, no_compilation):
    monkeypatch.setenv("TILECORE_CACHE_PATH", os.pathsep.join(["", str(folder / "kernels.tcb"), str(folder / "cache")]))
    assert warnings_of(lambda: use(kernels)) == []


@root_only
@pytest.mark.parametrize("layer", ["kernels.tcb", "cache"])
def test_another_user_starts_warm(folder, kernels, monkeypatch, tmp_path, layer, no_compilation):
    """A layer of root's, in a process of a user who has no cache yet: nothing is compiled."""
    reachable_for_all(folder)
    reachable_for_all(Path(kernels.__file__).parent)  # the program, which its user must be able to read
    for path in (folder / "cache").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "cache").chmod(0o755)
    use_once(folder, kernels, monkeypatch)  # imports what this user may not read
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(folder / layer))
    monkeypatch.setenv("TILECORE_CACHE_DIR", "/nonexistent/cache")
    tilecore.cache.disk_cache().get("0" * 64)  # warns of that
    assert as_user(NOBODY, lambda: (os.geteuid(), use(kernels), warnings_of(lambda: use(kernels)))) == (
        f"({NOBODY}, [True, True, True], [])"
    )


def use_once(folder, kernels, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TILECORE_CACHE_PATH", str(folder / "kernels.tcb"))
        use(kernels)
    kernels.add.forget_kernels()
    kernels.scaled.forget_kernels()
    compiling._kernels.clear()
    layers._layers.clear()


@root_only
@pytest.mark.parametrize("layer", ["kernels.tcb", "cache"])
def test_a_layer_of_a_third_user_is_refused(folder, kernels, monkeypatch, tmp_path, layer):
    copy = tmp_path / f"of_a_stranger_{layer}"
    (shutil.copytree if layer == "cache" else shutil.copy)(folder / layer, copy)
    for path in (copy, *copy.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(copy))
    given = warnings_of(lambda: use(kernels))
    assert len(given) == 1
    assert f"{copy} belongs to user {STRANGER}, and this process runs as user" in given[0]
    assert f"chown -R root {copy}" in given[0]
    assert not kernels.add(16, 8).from_cache


def test_the_command_lists_the_layers(folder, monkeypatch, capsys):
    monkeypatch.setenv("TILECORE_CACHE_PATH", os.pathsep.join(str(folder / name) for name in ("kernels.tcb", "none")))
    with pytest.raises(SystemExit) as ended:
        main(["cache"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"layer: {folder / 'kernels.tcb'}\n" in printed
    assert f"layer: {folder / 'none'}: not used: it does not exist" in printed
