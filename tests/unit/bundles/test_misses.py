"""Why bundles do not have a kernel, and TILECORE_CACHED_ONLY, which forbids compiling what is missing."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from bundle_kit import KERNELS

import tilecore
from tilecore.cli import main
from tilecore.errors import CacheError

compiling = import_module("tilecore.jit.compile")  # the package's attribute of this name is the function


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle of the kernels for a processor of this kind."""
    path = tmp_path_factory.mktemp("built")
    (path / "bundled_kernels.py").write_text(KERNELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHED_ONLY", "1")  # making a bundle is free of it
        patch.setenv("TILECORE_CACHE_DIR", str(path / "cache"))
        patch.chdir(path)
        with pytest.raises(SystemExit) as ended:
            main(["compile", "bundled_kernels.py", "--target", "cpu", "-o", "kernels.tcb"])
    assert ended.value.code == 0
    return path / "kernels.tcb"


@pytest.fixture
def kernels(load_module, fresh_caches, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    return load_module(KERNELS + ONCE)


ONCE = """

@T.prim_func
def once(A: T.Tensor((3,), "float32"), s: T.int32, B: T.Tensor((3,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(3):
            B[i] = A[i] + s


@tilecore.jit(target="cpu")
def tagged(widths):
    return once
"""


def test_what_is_there_runs(bundle, kernels, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(bundle))
    a = np.ones((16, 8), np.float32)
    assert (kernels.add(16, 8)(a, a) == 2).all()
    assert (kernels.scaled(np.ones((6, 8), np.float32)) == 2).all()
    assert tilecore.compile(kernels.twice, target="cpu").from_cache


def test_what_is_missing_is_refused(bundle, kernels, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(bundle))
    with pytest.raises(
        CacheError, match=r"^add\(5, 5\) is in no cache and in no bundle, and TILECORE_CACHED_ONLY forbids"
    ) as why:
        kernels.add(5, 5)
    assert f"{bundle} has add(16, 8), " in why.value.found
    assert "for this target: the arguments differ" in why.value.found
    with pytest.raises(CacheError, match=r"^add\(5, 5\): add is in no cache"):
        kernels.add.par_compile([(16, 8), (5, 5)])
    with pytest.warns(match="1 of 2 kernels could not be compiled"):
        assert [kernel is None for kernel in kernels.add.par_compile([(16, 8), (5, 5)], ignore_error=True)] == [
            False,
            True,
        ]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda kernels: kernels.add(5, N=6, dtype=np.float16), "add(5, N=6, dtype='float16')"),
        (lambda kernels: kernels.tagged([0] * 99), f"tagged({str([0] * 99)[:57]}...)"),
        (lambda kernels: kernels.scaled(np.ones((5, 4), np.float32)), "scaled(X=float32[5, 4], factor=2.0)"),
        (lambda kernels: kernels.scaled.compile(M=5, N=4), "scaled(factor=2.0, M=5, N=4)"),
        (lambda kernels: tilecore.compile(kernels.once, target="cpu"), "once(A: float32[3], s: int32, B: float32[3])"),
    ],
)
def test_the_call_that_is_asked_for(kernels, call, text):
    """Its values, tensors by their types, long ones cut short; of a kernel its parameters."""
    with pytest.raises(CacheError) as why:
        call(kernels)
    assert why.value.message.startswith(f"{text} is in no cache and in no bundle, and ")
    assert why.value.expected.startswith("a kernel for cpu ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pass_configs": {"tl.disable_vectorize_256": True}}, "has twice for this target: the arguments differ"),
        ({"target": "cpu -march=generic"}, "has twice for other targets only: cpu -"),
    ],
)
def test_what_the_bundle_has_instead(bundle, kernels, monkeypatch, changes, words):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(bundle))
    with pytest.raises(CacheError) as why:
        tilecore.compile(kernels.twice, **{"target": "cpu", **changes})
    assert words in why.value.found


def test_without_bundles(kernels):
    with pytest.raises(CacheError) as why:
        kernels.add(16, 8)
    assert why.value.found == "no bundles: neither TILECORE_CACHE_PATH nor the program names one"
    assert "tilecore compile" in why.value.hint


def test_a_kernel_in_the_cache_is_used(kernels, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "0")
    kernels.add(16, 8)
    kernels.add.forget_kernels()
    compiling._kernels.clear()
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    assert kernels.add(16, 8).from_cache


def test_a_name_that_the_bundle_does_not_have(bundle, load_module, fresh_caches, monkeypatch, capfd):
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(bundle))
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    other = load_module(KERNELS.replace("def add", "def sum_of").replace("+ B", "- B"))
    assert not other.sum_of(16, 8).from_cache
    assert (
        f"sum_of(16, 8) is compiled, as no bundle has it: {bundle} has no kernel sum_of; it has "
        in capfd.readouterr().err
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path / "missing.tcb", "missing.tcb is not used: it does not exist"),
        (lambda path: path, "empty is not used: it has no bundles (*.tcb) and no kernels of a cache"),
        (lambda path: path / "text.tcb", "text.tcb is not used: it is not a bundle"),
    ],
)
def test_paths_without_bundles(kernels, monkeypatch, tmp_path, make, words):
    (tmp_path / "empty").mkdir(mode=0o755)
    if "text" in words:
        (tmp_path / "empty" / "text.tcb").write_text("no bundle")
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(make(tmp_path / "empty")))
    with pytest.raises(CacheError) as why:
        kernels.add(16, 8)
    assert words in why.value.found
    assert "neither TILECORE_CACHE_PATH" not in why.value.found


@pytest.mark.parametrize(
    ("name", "value", "found", "hint"),
    [
        ("TILECORE_DISABLE_CACHE", "1", "turned off (TILECORE_DISABLE_CACHE)", "turn them on"),
        ("TILECORE_DUMP", "dump", "files of every step are asked for", "ask for no files"),
        ("TILECORE_SIMULATE", "1", "a simulated device of target 'cuda'", "run it where the device is"),
    ],
)
def test_other_reasons(bundle, kernels, monkeypatch, tmp_path, name, value, found, hint):
    target = "cpu"
    if name == "TILECORE_SIMULATE":
        from tilecore.plugins import manager

        if "cuda" not in manager.kinds():
            pytest.skip("tile-cuda is not installed")
        target = "cuda -arch=sm_80"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(bundle))
    monkeypatch.setenv(name, value)
    with pytest.raises(CacheError) as why:
        tilecore.compile(kernels.twice, target=target)
    assert found in why.value.found
    assert hint in why.value.hint


def test_commands_are_free_to_compile(monkeypatch, tmp_path, capsys, fresh_caches):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    (tmp_path / "k.py").write_text(KERNELS)
    with pytest.raises(SystemExit) as ended:
        main(["explain", "k.py:twice"])
    assert ended.value.code == 0, capsys.readouterr()
    assert __import__("os").environ["TILECORE_CACHED_ONLY"] == "1"
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "perhaps")
    with pytest.raises(SystemExit):
        main(["doctor"])
    assert "TILECORE_CACHED_ONLY" in capsys.readouterr().out
