"""Searches: the right and fastest wins, and what is wrong, slow, hanging or crashing does not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tunable_kernels import adder, factory, plus_one

import tilecore.language as T
from tilecore.autotune import AutotuneWarning, oracle
from tilecore.autotune.profile_args import ProfileArgs
from tilecore.autotune.tuning import Tuning
from tilecore.errors import ArgumentError, AutotuneError
from tilecore.jit.impl import jit
from tilecore.plugins import manager

N = 64
QUICK = {"warmup": 1, "rep": 3}


def tune(add, configs, inputs=None, n=N, **profile):
    return Tuning(add, configs, ProfileArgs(**{"timeout": 30, **QUICK, **profile}), (n,), {}, inputs).run()


def by_block(result):
    return {candidate.config["block"]: candidate for candidate in result.candidates}


def slow(milliseconds):
    return (f"slow={milliseconds}",)


def test_the_fastest_wins(moody):
    configs = [{"block": 8, "moods": slow(40)}, {"block": 16, "moods": slow(3)}, {"block": 32, "moods": slow(20)}]
    result = tune(factory(moody), configs, ref_prog=plus_one)
    assert result.config == configs[1]
    assert result.kernel.config == result.config
    assert (result.kernel.latency, result.kernel.ref_latency) == (result.latency, result.ref_latency)
    assert (result.latency, result.ref_latency) == (4, 1), "the moody clock's milliseconds"
    assert result.checked == "ref_prog"
    assert result.kernel(np.arange(N, dtype=np.int32))[5] == 6
    assert result.libcode == result.kernel.get_kernel_source()
    assert result.func.attrs["global_symbol"] == "add"
    assert {c.status for c in result.candidates} == {"timed"}
    assert [by_block(result)[block].latency for block in (8, 16, 32)] == [41, 4, 21]


def test_a_wrong_one_never_wins_however_fast(moody):
    """With a reference, with the interpreter and with nothing but the others."""
    configs = [
        {"block": 8, "moods": slow(5)},
        {"block": 16, "amount": 2},
        {"block": 32, "moods": slow(9)},
    ]
    result = tune(factory(moody), configs, ref_prog=plus_one)
    assert result.config == configs[0]
    assert by_block(result)[16].status == "wrong"
    assert "add: B: 64 of 64 elements differ" in by_block(result)[16].reason
    with pytest.warns(AutotuneWarning, match=r"1 of 3 candidates compute something else .*block=16, amount=2"):
        result = tune(factory(moody), configs)
    assert (result.config, result.checked) == (configs[0], "interpreter")


def test_a_miscompiled_one_never_wins(moody, monkeypatch):
    """The interpreter finds it, even when it is the only candidate or all candidates agree."""
    real = oracle.Oracle.outputs

    def miscompiled(self, candidate, inputs):
        expected, unknown = real(self, candidate, inputs)
        return [expected[0] + (candidate.config["block"] != 16)], unknown

    monkeypatch.setattr(oracle.Oracle, "outputs", miscompiled)
    with pytest.raises(AutotuneError, match="wrong: the interpreter computes something else: B: 64 of 64"):
        tune(factory(moody), [{"block": 8}])
    with pytest.raises(AutotuneError, match="none of 2 configurations"):
        tune(factory(moody), [{"block": 8}, {"block": 32}])
    configs = [{"block": 8}, {"block": 16, "amount": 5}]
    assert tune(factory(moody), configs).config == configs[1], "confirmed, though the others are as many"


def test_what_the_interpreter_refuses_is_wrong(moody):
    @jit(out_idx=-1, target=moody)
    def racy(n, block):
        @T.prim_func
        def race(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i % block] = A[i]
                for i in T.Parallel(n):
                    B[i] = A[i] + 1

        return race

    with pytest.raises(AutotuneError, match=r"wrong: the interpreter refuses it: "):
        tune(racy, [{"block": 8}])
    assert tune(racy, [{"block": 8}, {"block": N}], skip_check=True).checked == "not checked"


def test_without_interpreter_the_majority_is_right(moody, monkeypatch):
    monkeypatch.setattr(oracle, "LARGEST", 1)
    configs = [{"block": 8, "moods": slow(3)}, {"block": 16, "moods": slow(5)}, {"block": 32, "amount": 3}]
    with pytest.warns(AutotuneWarning, match="1 of 3 candidates compute something else"):
        result = tune(factory(moody), configs)
    assert result.config == configs[0]
    assert result.checked == "agreement of 2 of 3 (the interpreter cannot tell: its tensors are too large to interpret)"
    assert by_block(result)[32].reason.startswith("it disagrees with block=8, moods=('slow=3',): B: 64 of 64")
    with pytest.raises(AutotuneError, match=r"compute 2 different results(.|\n)*pass ref_prog") as caught:
        tune(factory(moody), [configs[0], configs[2]])
    assert caught.value.found.startswith("[block=8, moods=('slow=3',)]; [block=32, amount=3] (the interpreter")
    with pytest.raises(AutotuneError, match="compute 2 different results") as caught:
        tune(factory(moody), [*configs, {"block": 64, "amount": 3}])
    assert caught.value.found.startswith("[block=8, moods=('slow=3',)] and 1 more; [block=32, amount=3] and 1 more (")
    alone = tune(factory(moody), configs[:1])
    assert alone.checked.startswith("not checked (the interpreter cannot tell")


def test_an_interpretation_that_takes_too_long_is_given_up(moody, monkeypatch):
    monkeypatch.setattr(oracle, "SECONDS", 0.05)

    @jit(out_idx=-1, target=moody)
    def long(n, block):
        @T.prim_func
        def loop(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(n):
                for i in T.serial(100_000):
                    if i % block == 0:
                        B[0] = A[0]

        return loop

    assert "longer than 0.05 seconds" in tune(long, [{"block": 8}], n=1).checked


def test_hanging_and_crashing_candidates_are_left_out(moody):
    configs = [
        {"block": 8, "moods": ("hang",)},
        {"block": 16, "moods": ("crash",)},
        {"block": 32, "moods": slow(2)},
        {"block": 64, "moods": ("refuse",)},
        {"block": 128},
    ]
    start = time.monotonic()
    result = tune(factory(moody), configs, ref_prog=plus_one, timeout=2)
    assert time.monotonic() - start < 40
    assert result.config == configs[2]
    trials = by_block(result)
    assert (trials[8].status, trials[8].reason) == (
        "timed out",
        "running: it took longer than 2 seconds and was stopped",
    )
    assert (trials[16].status, trials[16].reason) == ("crashed", "running: the process that ran it died of SIGABRT")
    assert trials[64].status == "failed to compile"
    assert "the moody compiler refuses" in trials[64].reason
    assert (trials[128].status, trials[128].reason) == ("failed to compile", "ValueError: block 128 is larger than 64")


def test_a_compilation_that_does_not_end_is_not_waited_for(moody):
    configs = [{"block": 8, "moods": ("stall",)}, {"block": 16}]
    result = tune(factory(moody), configs, ref_prog=plus_one, timeout=4)
    assert result.config == configs[1]
    assert by_block(result)[8].status == "timed out"
    assert by_block(result)[8].reason.startswith("compiling: it took longer than 4 seconds")


def test_when_none_is_left_the_reasons_of_all_are_told(moody):
    configs = [{"block": 8, "amount": 2}, {"block": 16, "moods": ("refuse",)}, {"block": 128}, {"block": 256}]
    with pytest.raises(AutotuneError) as caught:
        tune(factory(moody), configs, ref_prog=plus_one)
    text = str(caught.value)
    assert "none of 4 configurations gave a kernel" in text
    assert "[block=8, amount=2]\n    wrong: add: B: 64 of 64 elements differ" in text
    assert "[block=16, moods=('refuse',)]\n    failed to compile: the moody compiler refuses" in text
    assert "[block=256]\n    failed to compile: ValueError: block 256 is larger than 64" in text


def test_a_backend_of_this_process_only(moody):
    """Candidates run in this process: a hanging one is not waited for, and nothing is run after it."""
    from tile_moody import Moody

    with manager.register(Moody("byhand")):
        configs = [{"block": 8, "moods": slow(4)}, {"block": 16}]
        assert tune(factory("byhand"), configs, ref_prog=plus_one).config == configs[1]
        assert tune(factory("byhand"), [{"block": 8}]).checked == "interpreter"
        with pytest.raises(AutotuneError) as caught:
            tune(factory("byhand"), [{"block": 8, "moods": ("hang",)}, {"block": 16}], ref_prog=plus_one, timeout=0.5)
        assert "timed out: running: it took longer than 0.5 seconds and is no longer waited for" in str(caught.value)
        assert "failed to run: not run, as add still hangs in this process" in str(caught.value)


def test_configurations_that_give_one_kernel_are_run_once(moody, monkeypatch):
    from tilecore.autotune.bench import Bench

    runs = []
    real = Bench.run
    monkeypatch.setattr(Bench, "run", lambda self, name, *rest: runs.append(name) or real(self, name, *rest))
    result = tune(factory(moody), [{"block": 8}, {"block": 8, "amount": 1}, {"block": 16}], ref_prog=plus_one)
    assert len(runs) == 2
    assert [c.status for c in result.candidates] == ["timed"] * 3
    assert result.candidates[0].latency == result.candidates[1].latency


def test_early_stop_bounds_the_time_of_slow_candidates(moody, monkeypatch):
    from tilecore.autotune.bench import Bench

    bounds = []
    monkeypatch.setattr(Bench, "time", lambda self, *rest: bounds.append(rest[-1]) or 3.0)
    for number, (options, bound) in enumerate(
        [({}, 6.0), ({"early_stop": True, "early_stop_factor": 1.5}, 4.5), ({"early_stop": False}, None)]
    ):
        bounds.clear()
        tune(factory(moody), [{"block": 8}, {"block": 16}], n=N + 16 * number, ref_prog=plus_one, **options)
        assert bounds == [None, bound]
    with pytest.raises(ArgumentError, match="early_stop_factor"):
        ProfileArgs(early_stop_factor=0.5)


def test_kernels_that_write_in_place(moody):
    @jit(target=moody)
    def in_place(n, block):
        return adder(n, block)

    def reference(a, b):
        b[...] = a + 1

    inputs = [np.arange(N, dtype=np.int32), np.zeros(N, np.int32)]
    result = tune(in_place, {"block": [8, 16]}, inputs, ref_prog=reference)
    assert not inputs[1].any(), "the given tensors are left as they were"
    assert tune(in_place, {"block": [8, 16]}).checked == "interpreter"
    assert result.config["block"] in (8, 16)


def test_inputs_are_made_once_for_all_that_take_the_same(moody):
    parameter_names = []

    def supply(params):
        parameter_names.append([p.name for p in params])
        return [np.full(N, 7, np.int32)]

    seen = []

    def reference(a):
        seen.append(a.copy())
        return a + 1

    tune(factory(moody), {"block": [8, 16, 32]}, supply_prog=supply, ref_prog=reference)
    assert parameter_names == [["A"]]
    assert all(np.all(a == 7) for a in seen)
    with pytest.raises(AutotuneError, match=r"supply_prog returned 2 tensors for add(.|\n)*1: A"):
        tune(factory(moody), {"block": [8]}, supply_prog=lambda params: [1, 2])


def test_checks_by_hand(moody):
    sides = []

    def check(mine, theirs):
        sides.append((mine, theirs))
        assert np.all(np.asarray(mine[0]) == np.asarray(theirs[0])), "not the same"

    configs = [{"block": 8, "amount": 2}, {"block": 16}]
    result = tune(factory(moody), configs, ref_prog=plus_one, manual_check_prog=check)
    assert result.config == configs[1]
    assert by_block(result)[8].reason.startswith("not the same")
    assert len(sides) == 2


def test_the_reference_s_own_errors_are_told(moody):
    def broken(a):
        raise ZeroDivisionError("in the reference")

    with pytest.raises(ZeroDivisionError, match="in the reference"):
        tune(factory(moody), {"block": [8]}, ref_prog=broken)


def test_sizes_that_only_calls_tell(moody):
    n = T.dynamic("n")

    @jit(out_idx=-1, target=moody)
    def dynamic(block):
        @T.prim_func
        def add(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(T.ceildiv(n, block)) as bx:
                for i in T.Parallel(block):
                    if bx * block + i < n:
                        B[bx * block + i] = A[bx * block + i] + 1

        return add

    profile = ProfileArgs(**QUICK, ref_prog=plus_one)
    with pytest.raises(AutotuneError, match="n is known only at a call"):
        Tuning(dynamic, {"block": [8, 16]}, profile).run()
    result = Tuning(dynamic, {"block": [8, 16]}, profile, inputs=[np.arange(50, dtype=np.int32)]).run()
    assert result.kernel(np.arange(3, dtype=np.int32)).tolist() == [1, 2, 3]


def test_scalars_are_not_made_up(moody):
    """They may be sizes, or choose what the kernel does. TileLang raises a ValueError, too."""

    @jit(target=moody)
    def shifted(block):
        @T.prim_func
        def add(A: T.Tensor((64,), "int32"), s: T.int32, f: T.float32):
            with T.Kernel(64 // block) as bx:
                for i in T.Parallel(block):
                    A[bx * block + i] += s * T.cast(f, "int32")

        return add

    with pytest.raises(ValueError, match="s, f are known only at a call") as caught:
        Tuning(shifted, {"block": [8, 16]}, ProfileArgs(**QUICK)).run()
    assert isinstance(caught.value, AutotuneError)
    assert "set_autotune_inputs" in str(caught.value)
    result = Tuning(
        shifted, {"block": [8, 16]}, ProfileArgs(**QUICK), inputs=[np.arange(64, dtype=np.int32), 1, 2.0]
    ).run()
    values = np.arange(64, dtype=np.int32)
    result.kernel(values, 3, 1.0)
    assert values.tolist() == list(range(3, 67))
