"""@autotune and AutoTuner: calls, caches in memory and on disk, other processes, eager kernels."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tunable_kernels import adder, factory, plus_one

import tilecore
import tilecore.language as T
from tilecore.autotune import AutotuneWarning
from tilecore.autotuner import AutoTuner, autotune, get_autotune_inputs, set_autotune_inputs
from tilecore.contract.records import Presence
from tilecore.errors import ArgumentError, AutotuneError, LanguageError
from tilecore.jit.impl import jit
from tilecore.profiler.warning import ProfilerWarning

REPOSITORY = Path(__file__).parents[3]
QUICK = {"warmup": 1, "rep": 3, "timeout": 30}
CONFIGS = {"block": [8, 16]}


def tuned(target="cpu", **options):
    return autotune(configs=CONFIGS, **{**QUICK, "ref_prog": plus_one, **options})(factory(target))


def test_configurations_set_pass_configurations(searches):
    """Each candidate is compiled with its own; the fastest kernel has them, from the disk too."""
    configs = [{"block": 8, "pass_configs": {"tl.dump_ir_path": name}} for name in ("one", "two")]
    for _ in range(2):
        add = autotune(configs=configs, **QUICK, ref_prog=plus_one)(factory("cpu"))
        kernel = add(64)
        assert kernel.config in configs
        assert kernel(np.arange(64, dtype=np.int32))[3] == 4
    assert searches == [configs]
    result = AutoTuner(functools.partial(factory("cpu"), 64), configs).set_profile_args(**QUICK).run()
    assert result.config in configs


def test_a_call_searches_once_for_each_set_of_arguments(searches):
    add = tuned()
    kernel = add(64)
    assert kernel.config in [{"block": 8}, {"block": 16}]
    assert kernel.latency > 0
    assert kernel.ref_latency > 0
    assert kernel(np.arange(64, dtype=np.int32))[3] == 4
    assert add(64) is kernel
    assert add.compile(n=64) is kernel
    assert len(searches) == 1
    assert add(128) is not kernel
    assert len(searches) == 2
    assert add.tune(64).kernel is kernel
    assert add.jit_impl(64, **kernel.config) is kernel


def test_a_call_that_sets_all_tunables_is_passed_on(searches):
    add = tuned()
    assert add(64, block=32)(np.zeros(64, np.int32))[0] == 1
    assert add(64, 32) is add(64, block=32) is add.compile(64, 32)
    assert searches == []
    assert add(64, block=None).config is not None
    assert len(searches) == 1


def test_what_a_call_sets_of_several_tunables_stays(searches):
    add = autotune(configs={"block": [8, 16], "amount": [1, 2]}, ref_prog=lambda a: a + 2, **QUICK)(factory("cpu"))
    assert add(64, amount=2).config["amount"] == 2
    assert searches == [[{"block": 8, "amount": 2}, {"block": 16, "amount": 2}]]


def test_the_rest_is_the_functions_own():
    add = tuned()
    assert add.__name__ == "add"
    assert add.mode == "lazy"
    assert [k.config for k in add.par_compile([(64, 8), (64, 16)])] == [None, None]
    assert "add" in repr(add)
    assert str(add.get_tir(64, 8).attrs["global_symbol"]) == "add"
    with pytest.raises(AttributeError):
        add.nothing_like_it  # noqa: B018


def test_results_are_kept_on_disk(searches):
    first = tuned().tune(64)
    again = tuned().tune(64)
    assert (len(searches), first.from_cache, again.from_cache) == (1, False, True)
    assert (again.config, again.latency, again.ref_latency, again.checked) == (
        first.config,
        first.latency,
        first.ref_latency,
        "ref_prog",
    )
    assert again.kernel.config == first.config
    assert again.candidates == []


@pytest.mark.parametrize(
    "change",
    [
        {"configs": {"block": [8, 32]}},
        {"rtol": 0.5},
        {"supply_type": tilecore.TensorSupplyType.One},
        {"skip_check": True},
    ],
)
def test_another_search_has_another_result(searches, change):
    tuned().tune(64)
    autotune(**{"configs": CONFIGS, "ref_prog": plus_one, **QUICK, **change})(factory("cpu")).tune(64)
    assert len(searches) == 2


def test_other_arguments_sources_and_settings_have_another_result(searches, monkeypatch):
    tuned().tune(64)
    tuned().tune(32)

    @jit(out_idx=-1, target="cpu")
    def add(n, block=None):
        return adder(n, block, 1 + 0)

    autotune(configs=CONFIGS, ref_prog=plus_one, **QUICK)(add).tune(64)
    tuned("cpu -march=generic").tune(64)
    assert len(searches) == 4
    monkeypatch.setenv("TILECORE_AUTO_TUNING_DISABLE_CACHE", "1")
    tuned().tune(64)
    assert len(searches) == 5


def test_another_device_has_another_result(searches):
    tuned().tune(64)
    add = tuned()
    request = add.request()
    other = replace(request.backend.target, detect=lambda: Presence(True, "another processor"))
    add.jit_impl.__dict__["_request"] = replace(request, backend=replace(request.backend, target=other))
    assert not add.tune(64).from_cache
    assert len(searches) == 2


def test_given_inputs_count_by_their_shapes(searches):
    def tune(inputs):
        with set_autotune_inputs(inputs):
            return tuned(ref_prog=plus_one).tune(64)

    tune([np.zeros(64, np.int32)])
    tune([np.ones(64, np.int32)])
    assert len(searches) == 1
    with pytest.raises(AutotuneError, match="failed to run"):
        tune([np.zeros(65, np.int32)])
    assert len(searches) == 2


def test_a_fresh_process_uses_the_stored_result(tmp_path):
    module = tmp_path / "tuned_kernel.py"
    module.write_text(
        textwrap.dedent("""
        import sys
        import tilecore, tilecore.language as T
        from tilecore.autotuner import autotune

        @autotune(configs={"block": [8, 16]}, warmup=1, rep=2, ref_prog=lambda a: a + 1)
        @tilecore.jit(out_idx=-1, target="cpu")
        def add(n, block=None):
            @T.prim_func
            def add(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
                with T.Kernel(n // block) as bx:
                    for i in T.Parallel(block):
                        B[bx * block + i] = A[bx * block + i] + 1
            return add

        result = add.tune(64)
        print(result.from_cache, result.config, result.latency, "tvm" in sys.modules)
        """)
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    runs = [subprocess.run([sys.executable, module], env=environment, capture_output=True, text=True) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    first, second = (run.stdout.split(maxsplit=1) for run in runs)
    assert (first[0], second[0]) == ("False", "True")
    assert second[1].rsplit(maxsplit=1)[0] == first[1].rsplit(maxsplit=1)[0], "configuration and latency"
    assert second[1].split()[-1] == "False", "without TVM"


def test_arguments_that_do_not_ask_for_a_search_of_their_own(searches):
    add = tuned(do_not_specialize=["n"])
    first, second = add(64), add(128)
    assert len(searches) == 1
    assert first is not second
    assert second.config == first.config
    assert second(np.zeros(128, np.int32)).sum() == 128
    assert tuned(do_not_specialize=["n"]).tune(256).from_cache


def test_eager_kernels_are_tuned_on_the_tensors_of_the_call(searches):
    @jit(target="cpu")
    def gather(A, Where, block=8):
        N = T.const("N")
        A: T.Tensor[[N], T.int32]
        Where: T.Tensor[[N], T.int32]
        B = T.empty((N,), T.int32)
        with T.Kernel(N // block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[Where[bx * block + i]]
        return B

    values, places = np.arange(64, dtype=np.int32) * 3, np.arange(64, dtype=np.int32)[::-1].copy()
    kernel = autotune(configs={"block": [16, 32]}, **QUICK)(gather)
    assert np.array_equal(kernel(values, places, None), values[places]), "made-up places would be out of bounds"
    assert len(searches) == 1
    assert np.array_equal(kernel(values + 1, places, None), values[places] + 1)
    assert len(searches) == 1
    assert kernel.compile(values, places, None).config["block"] in (16, 32)
    assert kernel(values, places, block=4).shape == (64,)
    assert len(searches) == 1


def test_inputs_of_the_thread():
    assert get_autotune_inputs() is None
    with set_autotune_inputs(1, 2):
        assert get_autotune_inputs() == [1, 2]
        with set_autotune_inputs([3]):
            assert get_autotune_inputs() == [3]
        assert get_autotune_inputs() == [1, 2]
    assert get_autotune_inputs() is None


def test_wrong_uses():
    with pytest.raises(LanguageError, match=r"above @tilecore.jit"):
        autotune(configs=CONFIGS)(lambda n: None)
    with pytest.raises(LanguageError):
        autotune(configs=CONFIGS)(jit(adder(8, 8), target="cpu"))
    with pytest.raises(ArgumentError, match="ref_prog as well"):
        autotune(configs=CONFIGS, manual_check_prog=print)
    with pytest.raises(ArgumentError, match="timeout=0"):
        autotune(configs=CONFIGS, timeout=0)
    with pytest.raises(AutotuneError, match="which the function does not take"):
        autotune(configs={"blok": [1]}, **QUICK)(factory("cpu"))(64)


# -- AutoTuner -------------------------------------------------------------------------------------------------------


def tuner(fn, **profile):
    return AutoTuner.from_kernel(fn, CONFIGS).set_compile_args(out_idx=-1, target="cpu").set_profile_args(
        **{**QUICK, "ref_prog": plus_one, **profile}
    )  # fmt: skip


def test_step_by_step():
    def add(block):
        return adder(64, block)

    result = tuner(add).run(warmup=1, rep=2, timeout=20)
    assert result.config["block"] in (8, 16)
    assert result.kernel(np.zeros(64, np.int32)).sum() == 64
    assert (result.latency, result.config) == (result.kernel.latency, result.kernel.config)
    assert "B" in str(result.func)
    assert tuner(add).run().from_cache


def test_options_of_tilelangs_search_are_said_to_change_nothing():
    def add(block):
        return adder(48, block)

    with pytest.warns(AutotuneWarning, match="use_pipeline, enable_grouped_compile: ") as caught:
        result = tuner(add).run(use_pipeline=True, enable_grouped_compile=True, group_compile_size=4, early_stop=True)
    assert caught[0].filename == __file__
    assert result.config["block"] in (8, 16)


def test_functions_with_torch_op_are_refused():
    """An operation of torch keeps its kernel."""
    pytest.importorskip("torch")
    function = factory("cpu").func
    operation = jit(function, target="cpu", out_idx=-1, torch_op="tilecore_tests::tuned")
    with pytest.raises(LanguageError, match="autotune decorates no function with torch_op") as caught:
        autotune(configs=CONFIGS)(operation)
    assert f"{function.__name__}.compile(...).torch_op(" in caught.value.hint


def test_the_clock_of_candidates():
    def add(block):
        return adder(40, block)

    assert tuner(add, backend="wall").run().config["block"] in (8, 16)
    with pytest.raises(AutotuneError, match="cannot time by 'sundial'"):
        tuner(add, backend="sundial").run()
    with pytest.warns(ProfilerWarning, match='backend="cupti" is not there') as caught:
        chosen = AutoTuner(add, CONFIGS).set_compile_args(out_idx=-1).set_profile_args(**QUICK, backend="cupti")
    assert caught[0].filename == __file__
    assert chosen.run().config["block"] in (8, 16)
    with pytest.raises(ArgumentError, match="backend=None"):
        tuner(add, backend=None)


def test_partials_and_jit_functions():
    result = tuner(functools.partial(lambda n, block: adder(n, block), 32)).run()
    assert result.kernel(np.zeros(32, np.int32)).sum() == 32

    @jit(out_idx=-1, target="cpu")
    def add(block):
        return adder(64, block)

    assert AutoTuner(add, CONFIGS).set_profile_args(**QUICK, ref_prog=plus_one).run().config["block"] in (8, 16)


def test_tensors_given_while_it_is_set_up_are_used():
    seen = []

    def reference(a):
        seen.append(int(a.sum()))
        return a + 1

    def add(block):
        return adder(64, block)

    with set_autotune_inputs(np.full(64, 5, np.int32)):
        tuning = tuner(add, ref_prog=reference)
    tuning.run()
    assert set(seen) == {320}


def test_verbose_shows_all_candidates(capsys):
    add = autotune(configs=[{"block": 8}, {"block": 128}], ref_prog=plus_one, **QUICK)(factory("cpu", verbose=True))
    add.tune(64)
    shown = capsys.readouterr().err
    assert "add: block=8" in shown
    assert "block=128" in shown
    assert "failed to compile" in shown
    assert "ValueError: block 128" in shown
