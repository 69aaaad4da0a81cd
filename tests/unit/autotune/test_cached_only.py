"""Searches where TILECORE_CACHED_ONLY forbids to compile candidates that no cache has."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from tunable_kernels import adder, factory, plus_one

import tilecore
from tilecore.autotuner import autotune
from tilecore.errors import CacheError

compiling = import_module("tilecore.jit.compile")  # the package's attribute of this name is the function
CONFIGS = {"block": [8, 16]}
QUICK = {"warmup": 1, "rep": 2, "timeout": 30, "ref_prog": plus_one}


def tuned():
    return autotune(configs=CONFIGS, **QUICK)(factory("cpu"))


@pytest.fixture
def one_is_cached(monkeypatch):
    """Of the candidates the slower one, as by a bundle with kernels of few configurations."""
    factory("cpu")(64, block=8)
    compiling._kernels.clear()
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")


def test_a_result_with_refused_candidates_is_not_kept(one_is_cached, searches, monkeypatch):
    add = tuned()
    result = add.tune(64)
    assert result.config == {"block": 8}
    assert [candidate.status for candidate in result.candidates] == ["timed", "refused"]
    assert "TILECORE_CACHED_ONLY forbids compiling it" in result.candidates[1].reason
    assert add(64) is result.kernel
    assert len(searches) == 1, "in this process, while the setting is the same"
    assert not tuned().tune(64).from_cache
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "0")
    assert [candidate.status for candidate in add.tune(64).candidates] == ["timed", "timed"]
    assert [candidate.status for candidate in tuned().tune(64).candidates] == [], "this one is kept"
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    assert len(add.tune(64).candidates) == 2


def test_the_kernel_of_the_first_call_is_from_the_cache(one_is_cached):
    kernel = tuned()(64)
    assert kernel.from_cache
    assert kernel.config == {"block": 8}
    assert kernel(np.arange(64, dtype=np.int32))[5] == 6


def test_a_kernel_that_was_compiled_is_not_from_the_cache():
    assert not tuned()(64).from_cache
    compiling._kernels.clear()
    kernels = [adder(64, block) for block in (8, 32)]
    assert [kernel.from_cache for kernel in tilecore.par_compile(kernels, target="cpu", out_idx=-1)] == [True, False]


def test_where_all_are_refused_the_error_is_that_of_a_kernel_that_is_missing(monkeypatch):
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    with pytest.raises(CacheError, match=r"add\(n=64, block=8\) is in no cache and in no bundle"):
        tuned()(64)


def product(M, N, K, block_M=None, block_N=None, dtype="float32"):
    return adder(64, 8, 1000 * block_M + block_N)


def test_a_proposal_that_was_taken_for_refused_ones_is_not_kept(monkeypatch):
    function = tilecore.jit(product, target="cpu", out_idx=-1)
    tuned = autotune(configs="auto", tries=1)(function)
    best, second, *_ = tuned.configs((100, 200, 300), {})
    function(100, 200, 300, **second)
    function.forget_kernels()
    compiling._kernels.clear()
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "1")
    for _ in range(2):
        kernel = tuned(100, 200, 300)
        assert kernel.config == second
        assert kernel.from_cache
    monkeypatch.setenv("TILECORE_CACHED_ONLY", "0")
    assert tuned(100, 200, 300).config == best
