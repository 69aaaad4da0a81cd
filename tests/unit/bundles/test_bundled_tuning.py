"""Kernels of autotuned functions in bundles: by a configuration with the call, a known one, or an earlier search."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pytest
from bundle_kit import KERNELS

import tilecore
from tilecore.bundles import layers
from tilecore.errors import ArgumentError

compiling = import_module("tilecore.jit.compile")  # the package's attribute of this name is the function

TUNED = (
    KERNELS
    + """

def blocks(n):
    return [{"block": 64 // n}, {"block": 128 // n}]


@tilecore.autotune(configs=blocks, warmup=1, rep=2)
@tilecore.jit(out_idx=-1, target="cpu")
def moved(n, block=None, offset=1):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(n // block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + offset

    return kernel


def tilecore_kernels():
    yield twice
    yield moved, ITEM
"""
)


def test_an_autotuned_function_without_a_configuration(run, tmp_path):
    """It is not timed: the error says how to give the configuration, and that an earlier result would be used."""
    (tmp_path / "kernels.py").write_text(TUNED.replace("ITEM", '{"n": 4}'))
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--keep-going")
    assert code == 1
    assert "failed: moved(n=4) for cpu: moved(n=4) has no tuned result for cpu " in printed
    assert "expected: the configuration with the call: moved(n=4, block=...)" in printed
    assert "moved.tune(n=4).config is the configuration" in printed
    assert list(tilecore.load_bundle("kernels.tcb")) == ["twice"]
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--call", "moved()", "--keep-going")
    assert "moved(): an argument is missing: n" in printed
    assert '--call "moved(n=...)"' in printed
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--call", "moved(0)", "--keep-going")
    assert "the configurations of moved cannot be made: ZeroDivisionError" in printed
    assert 'return [{"block": 64 // n}, {"block": 128 // n}]' in printed
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", "--call", "moved(4, 2)", "-o", "given.tcb")
    assert (code, list(tilecore.load_bundle("given.tcb"))) == (0, ["moved(4, 2)"])


def test_the_result_of_an_earlier_search_is_the_configuration(run, tmp_path, load_module, monkeypatch):
    """Calls without the configuration find the kernel then: in the bundle, and in a program that uses the bundle."""
    text = TUNED.replace("ITEM", "4").replace("64 // n", "2").replace("128 // n", "4")
    monkeypatch.setenv("TILECORE_TARGET", "cpu")
    (tmp_path / "kernels.py").write_text(text)
    config = load_module(text).moved.tune(4).config
    code, printed, told = run("compile", "kernels.py", "--target", "cpu")
    assert code == 0, printed + told
    bundle = tilecore.load_bundle("kernels.tcb")
    assert list(bundle) == ["twice", "moved(4)"]
    kernel = bundle["moved(4)"]
    assert kernel is bundle.find("moved", 4) is bundle.find("moved", n=4, **config)
    with pytest.raises(ArgumentError, match="has no kernel moved"):
        bundle.find("moved", 4, block=8)
    np.testing.assert_array_equal(kernel(np.arange(4, dtype="int32")), np.arange(1, 5))
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(tmp_path / "kernels.tcb"))
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    monkeypatch.setattr(layers, "_layers", {})
    compiling._kernels.clear()
    found = load_module(text).moved(4)
    assert found.from_cache
    assert found.config == config
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu -march=generic", "--keep-going")
    assert "moved(4) has no tuned result for cpu -march=generic" in printed, "the result is that of another target"


def test_known_configurations(run, tmp_path):
    """Those of the file that fit the target and the call, for each target its own."""
    known = [
        {"target": {"kind": "cpu", "march": "generic"}, "where": {"n": [4, 8]}, "config": {"block": 2}},
        {"target": {"kind": "cpu"}, "where": {"n": 4}, "config": {"block": 4}},
    ]
    (tmp_path / "known.json").write_text(json.dumps(known))
    text = TUNED.replace("configs=blocks", f"configs=blocks, known={str(tmp_path / 'known.json')!r}")
    (tmp_path / "kernels.py").write_text(text.replace("ITEM", "4"))
    code, printed, told = run("compile", "kernels.py:moved", "--target", "cpu -march=generic,haswell")
    assert code == 0, printed + told
    bundle = tilecore.load_bundle("kernels.tcb")
    blocks = [{one.name: one.text for one in record.arguments}["block"] for record in bundle.kernels]
    assert blocks == ["2", "4"]
    assert {record.label for record in bundle.kernels} == {"moved(4)"}
    code, printed, _ = run("compile", "kernels.py:moved", "--target", "cpu -march=generic", "--call", "moved(16)")
    assert code == 1
    assert "moved(16) has no tuned result for cpu -march=generic" in printed
