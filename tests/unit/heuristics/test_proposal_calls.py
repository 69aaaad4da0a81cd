"""``configs="auto"``: the operation is known by the names of parameters, and its configurations are spelt by them."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest
import torch

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LimitError, TilecoreError, WrongConfigurationsError
from tilecore.heuristics.calls import configs_for
from tilecore.plugins import manager

GEMM = ("M", "N", "K", "dtype", "BM", "BN", "num_stages")
needs_cuda = pytest.mark.skipif("cuda" not in manager.kinds(), reason="tile-cuda is not installed")
SIZES = {"M": 100, "N": 200, "K": 300, "dtype": "float32"}


def product(M, N, K, block_M=None, block_N=None, block_K=None, threads=None, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return kernel


def test_configurations_are_spelt_as_the_parameters_are():
    configs, departure = configs_for(GEMM, SIZES, {}, "cpu", 5)
    assert 1 <= len(configs) <= 5
    assert all(set(config) == {"BM", "BN", "num_stages"} for config in configs)
    assert len({tuple(config.items()) for config in configs}) == len(configs)
    assert departure == ""


def test_what_the_call_gives_chooses_among_proposals():
    proposed = {config["BM"] for config in configs_for(GEMM, SIZES, {}, "cpu", 5).configs}
    assert len(proposed) > 1
    for rows in proposed:
        configs, departure = configs_for(GEMM, SIZES, {"BM": rows}, "cpu", 5)
        assert {config["BM"] for config in configs} == {rows}
        assert departure == ""


@needs_cuda
def test_what_the_call_gives_is_looked_for_among_all_tilings():
    """Not among the best alone: one tile of 16 rows is far from the best of this product."""
    names = ("M", "N", "K", "block_M", "block_N", "block_K", "stages", "threads")
    sizes = {"M": 8192, "N": 8192, "K": 8192}
    for given in ({"block_M": 16}, {"block_M": 64, "threads": 256, "block_K": 128}):
        configs, departure = configs_for(names, {**sizes, **given}, given, "cuda -arch=sm_80", 5)
        assert departure == ""
        assert all(given.items() <= config.items() for config in configs)


def test_a_value_that_no_proposal_has_is_kept_and_named():
    configs, departure = configs_for(GEMM, SIZES, {"BM": 17}, "cpu", 5)
    assert {config["BM"] for config in configs} == {17}
    assert "no proposal for 100 x 200 x 300 of float32 on cpu " in departure
    assert "has BM=17; proposals have BM of " in departure
    free = configs_for((*GEMM, "threads"), SIZES, {"threads": 96}, "cpu", 5)  # blocks of cpu have no threads
    assert {config["threads"] for config in free.configs} == {96}
    assert free.departure == ""
    everything = {"BM": 17, "BN": 3, "num_stages": 0}
    assert configs_for(GEMM, SIZES, everything, "cpu", 5) == ([everything], "")


@needs_cuda
def test_the_rest_is_that_of_the_nearest_proposals():
    names = ("M", "N", "K", "block_M", "block_N", "threads")
    sizes = {"M": 4096, "N": 4096, "K": 4096}
    for rows, near in ((300, 256), (60, 64), (18, 16)):
        configs, departure = configs_for(names, sizes, {"block_M": rows}, "cuda -arch=sm_80", 3)
        assert f"block_M={rows}" in departure
        expected, _ = configs_for(names, sizes, {"block_M": near}, "cuda -arch=sm_80", 3)
        assert configs[0] == {**expected[0], "block_M": rows}


@pytest.mark.parametrize("value", [0, -3, 2.5, "x", True])
def test_a_value_that_no_configuration_can_have_is_refused(value):
    with pytest.raises(ArgumentError, match=re.escape(f"the call gives BM={value!r}, which no")):
        configs_for(GEMM, SIZES, {"BM": value}, "cpu", 5)


def test_attention_and_decoding_are_known_by_their_parameters():
    sizes = {"batch": 1, "heads": 4, "kv_heads": 2, "length": 300, "dim": 64}
    forward, _ = configs_for([*sizes, "is_causal", "block_M", "block_N"], {**sizes, "is_causal": True}, {}, "cpu", 3)
    assert all(set(config) == {"block_M", "block_N"} for config in forward)
    decode, _ = configs_for([*sizes, "splits", "block_N"], sizes, {}, "cpu", 3)
    assert all(set(config) == {"splits", "block_N"} for config in decode)


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda -arch=sm_90a", marks=needs_cuda)])
def test_decoding_without_parts_of_the_keys(target):
    """A function without a parameter for them gets proposals that divide no keys, though more parts were faster."""
    sizes = {"batch": 1, "heads": 8, "kv_heads": 2, "keys": 4000, "dim": 64}
    configs, _ = configs_for([*sizes, "block_N", "stages"], sizes, {}, target, 3)
    assert all(set(config) == {"block_N", "stages"} for config in configs)


@pytest.mark.parametrize(
    ("parameters", "arguments", "text"),
    [
        (("rows", "columns", "block_M"), {"rows": 3, "columns": 4}, "does not know what the function computes"),
        (("M", "N", "K", "block_M"), {"M": 3, "N": 4}, "needs K as a number"),
        (("M", "N", "K", "block_M"), {"M": 3, "N": 4, "K": T.dynamic("K")}, "needs K as a number"),
        (("M", "N", "K"), {"M": 3, "N": 4, "K": 5}, "nothing to set"),
    ],
)
def test_functions_that_say_too_little_are_refused(parameters, arguments, text):
    with pytest.raises(WrongConfigurationsError, match=text):
        configs_for(parameters, arguments, {}, "cpu", 5)


def test_one_try_uses_the_best_proposal_without_timing(monkeypatch):
    monkeypatch.setattr(import_module("tilecore.autotune.decorator"), "Tuning", None)  # a search would fail
    tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(product, target="cpu", out_idx=-1))
    for M, N, K in ((1, 33, 70), (65, 40, 20)):
        a, b = torch.randn(M, K), torch.randn(K, N)
        kernel = tuned(M, N, K)
        torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
        assert tuned(M, N, K) is kernel
        assert set(kernel.config) == {"block_M", "block_N", "block_K", "threads"}


def test_a_default_that_the_call_gives_is_a_fixed_value():
    """Although the same call without it has the same values."""

    def with_default(M, N, K, block_M=37, block_N=None, block_K=None, dtype="float32"):
        return product(M, N, K, block_M, block_N, block_K, None, dtype)

    tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(with_default, target="cpu", out_idx=-1))
    proposed = tuned(100, 40, 30)
    assert proposed.config["block_M"] != 37
    assert tuned(100, 40, 30, block_M=37).config["block_M"] == 37
    assert tuned(100, 40, 30) is proposed


def test_a_known_call_lists_no_proposals_again(monkeypatch):
    tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(product, target="cpu", out_idx=-1))
    kernel = tuned(100, 40, 30)
    monkeypatch.setattr(import_module("tilecore.autotune.auto"), "configs_for", None)  # a list would fail
    assert tuned(100, 40, 30) is kernel


def test_a_value_that_no_proposal_has_is_used_and_said_where_the_kernel_is_verbose(monkeypatch, capsys):
    a, b = torch.randn(65, 20), torch.randn(20, 40)
    for verbose, times in (("0", 0), ("1", 1)):
        monkeypatch.setenv("TILECORE_VERBOSE", verbose)
        tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(product, target="cpu", out_idx=-1))
        kernel = tuned(65, 40, 20, block_M=17)
        assert tuned(65, 40, 20, block_M=17) is kernel
        assert kernel.config["block_M"] == 17
        torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
        said = capsys.readouterr().err
        assert len(re.findall(r"product: no proposal for .* has block_M=17; proposals have block_M of ", said)) == times


def test_a_call_that_gives_everything_is_passed_on():
    tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(product, target="cpu", out_idx=-1))
    a, b = torch.randn(20, 30), torch.randn(30, 40)
    kernel = tuned(20, 40, 30, block_M=16, block_N=16, block_K=16, threads=64)
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)


def test_several_tries_are_timed(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    tuned = tilecore.autotune(configs="auto", tries=2, warmup=1, rep=2)(tilecore.jit(product, target="cpu", out_idx=-1))
    result = tuned.tune(20, 40, 30)
    assert [candidate.status for candidate in result.candidates] == ["timed", "timed"]


def test_a_proposal_that_does_not_compile_is_passed_over():
    def picky(M, N, K, block_M=None, block_N=None, block_K=None, threads=None):
        if picky.first is None:
            picky.first = block_M, block_N
        if (block_M, block_N) == picky.first:
            raise LimitError("too large")
        return product(M, N, K, block_M, block_N, block_K, threads)

    picky.first = None
    kernel = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(picky, target="cpu", out_idx=-1))(60, 50, 40)
    assert (kernel.config["block_M"], kernel.config["block_N"]) != picky.first
    a, b = torch.randn(60, 40), torch.randn(40, 50)
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [ValueError, AssertionError, KeyError])
@pytest.mark.parametrize("tries", [1, 3])
def test_a_proposal_that_the_function_refuses_is_passed_over(kind, tries, tmp_path, monkeypatch):
    """By any exception, with one try as with several."""
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    first = configs_for(("M", "N", "K", "block_M", "block_N", "dtype"), SIZES, {}, "cpu", 1).configs[0]

    def picky(M, N, K, block_M=None, block_N=None, block_K=None, threads=None, dtype="float32"):
        if (block_M, block_N) == (first["block_M"], first["block_N"]):
            raise kind("not these")
        return product(M, N, K, block_M, block_N, block_K, threads, dtype)

    tuned = tilecore.autotune(configs="auto", tries=tries, warmup=1, rep=2)(
        tilecore.jit(picky, target="cpu", out_idx=-1)
    )
    kernel = tuned(100, 200, 300)
    assert (kernel.config["block_M"], kernel.config["block_N"]) != (first["block_M"], first["block_N"])


@pytest.mark.parametrize("kind", [LimitError, ValueError])
def test_where_none_compiles_the_first_error_is_raised(kind):
    seen = []

    def wrong(M, N, K, block_M=None, block_N=None):
        seen.append((block_M, block_N))
        raise kind(f"no {(block_M, block_N)}")

    with pytest.raises(kind) as caught:
        tilecore.autotune(configs="auto", tries=1)(tilecore.jit(wrong, target="cpu"))(60, 50, 40)
    assert len(seen) > 1
    assert f"no {seen[0]}" in str(caught.value)


def test_a_compiled_kernel_has_its_configuration():
    """With one try as with several, without a call before."""

    def fresh(M, N, K, block_M=None, block_N=None, block_K=None, threads=None):
        return product(M, N, K, block_M, block_N, block_K, threads)

    tuned = tilecore.autotune(configs="auto", tries=1)(tilecore.jit(fresh, target="cpu", out_idx=-1))
    kernel = tuned.compile(43, 20, 30)
    assert set(kernel.config) == {"block_M", "block_N", "block_K", "threads"}
    assert tuned(43, 20, 30) is kernel
    assert tuned.compile(43, 20, 30, threads=np.int64(64)).config["threads"] == 64


@pytest.mark.parametrize("tries", [np.int64(1), 1])
def test_the_number_of_tries_may_be_numpys(tries):
    tuned = tilecore.autotune(configs="auto", tries=tries)(tilecore.jit(product, target="cpu", out_idx=-1))
    assert tuned(np.int64(21), 40, 30)(torch.ones(21, 30), torch.ones(30, 40))[0, 0] == 30


@pytest.mark.parametrize("tries", [1, 2])
def test_an_error_names_the_value_that_no_proposal_has(tries, tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))

    def wrong(M, N, K, block_M=None, block_N=None):
        raise LimitError(f"no {block_M}")

    tuned = tilecore.autotune(configs="auto", tries=tries)(tilecore.jit(wrong, target="cpu"))
    with pytest.raises(TilecoreError, match="no 17") as caught:
        tuned(60, 50, 40, block_M=17)
    assert "has block_M=17; proposals have block_M of " in caught.value.hint
    with pytest.raises(TilecoreError) as caught:
        tuned(60, 50, 40)
    assert caught.value.hint is None


@pytest.mark.parametrize(
    "options", [{"configs": "automatic"}, {"configs": "auto", "tries": 0}, {"configs": [{}], "tries": 3}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ArgumentError):
        tilecore.autotune(**options)(tilecore.jit(product))


@needs_cuda
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_simulated_targets_get_their_own(arch):
    factory = tilecore.jit(product, target=f"cuda -arch={arch}", execution_backend="sim", out_idx=-1)
    kernel = tilecore.autotune(configs="auto", tries=1)(factory)(1, 40, 72, dtype="float16")
    a, b = torch.randn(1, 72).half(), torch.randn(72, 40).half()
    torch.testing.assert_close(kernel(a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-2)


def test_a_call_that_divides_k_itself_gets_no_divided_round():
    """Each way to divide K excludes the other."""
    parameters = ("M", "N", "K", "block_M", "block_N", "threads", "split_k", "stream_k")
    sizes = {"M": 300, "N": 200, "K": 500}
    assert all(config["stream_k"] == 0 for config in configs_for(parameters, sizes, {}, "cpu", 5).configs)
    configs, _ = configs_for(parameters, sizes, {"split_k": 3}, "cpu", 5)
    assert all("stream_k" not in config and config["split_k"] == 3 for config in configs)
    for blocks in (0, 4):
        configs, _ = configs_for(parameters, sizes, {"stream_k": blocks, "split_k": 1}, "cpu", 5)
        assert all(config["stream_k"] == blocks and config["split_k"] == 1 for config in configs)
    splits = ("M", "N", "K", "block_M", "splits", "stream_k")
    configs, _ = configs_for(splits, sizes, {"splits": 3}, "cpu", 5)
    assert all("stream_k" not in config and config["splits"] == 3 for config in configs)
