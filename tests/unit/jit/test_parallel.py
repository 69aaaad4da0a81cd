"""par_compile: order, caches, threads, processes and executors, failures with names, deaths and interruptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, TilecoreError, ToolchainError
from tilecore.jit import build_jobs, build_many
from tilecore.jit.build_jobs import can_be_sent
from tilecore.jit.build_many import CompileWarning
from tilecore.jit.factory_calls import label_of
from tilecore.jit.impl import JITImpl, jit
from tilecore.jit.parallel import par_compile, par_compile_configs
from tilecore.jit.request import make_request
from tilecore.jit.worker_pools import Pool
from tilecore.plugins import manager

REPOSITORY = Path(__file__).parents[3]


def adder(amount, n=8, flags=()):
    @T.prim_func
    def add(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            T.annotate_compile_flags(list(flags))
            for i in T.Parallel(n):
                B[i] = A[i] + amount

    return add


def added(kernel, n=8):
    return int(kernel(np.zeros(n, np.int32))[0])


@pytest.fixture(scope="module")
def pool():
    """A worker process for all tests here."""
    with Pool(1) as pool:
        yield pool


def processes(monkeypatch, pool):
    """Make par_compile choose processes."""
    monkeypatch.setattr(build_many, "WORTH_PROCESSES", 1)
    monkeypatch.setattr(build_many, "WORTH_PROCESSES_OF_ONE", 0)
    monkeypatch.setattr(build_many, "shared_pool", lambda size: pool)


def test_kernels_come_in_order(monkeypatch, pool):
    amounts = [5, 3, 9, 3, 1]
    kernels = par_compile([adder(a) for a in amounts], out_idx=-1, target="cpu")
    assert [added(k) for k in kernels] == amounts
    assert kernels[1] is kernels[3], "one key, one kernel"
    processes(monkeypatch, pool)
    kernels = par_compile([adder(a + 10) for a in amounts], out_idx=-1, target="cpu", num_workers=2)
    assert [added(k) for k in kernels] == [a + 10 for a in amounts]
    assert pool.live_workers


def test_artifacts_from_workers_are_those_of_this_process(monkeypatch, pool):
    local = par_compile([adder(50)], target="cpu")[0].artifact
    from tilecore.jit.compile import _kernels

    _kernels.clear()
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    of_worker = par_compile([adder(50)], target="cpu", executor=pool)[0].artifact
    assert (of_worker.source, of_worker.params, of_worker.entries, of_worker.versions) == (
        local.source,
        local.params,
        local.entries,
        local.versions,
    )


def test_what_is_cached_is_not_compiled_again(monkeypatch):
    from tilecore.jit.compile import _kernels

    funcs = [adder(a) for a in (21, 22)]
    first = par_compile(funcs, target="cpu")
    monkeypatch.setattr(build_jobs, "build", lambda *a: pytest.fail("compiled again"))
    assert par_compile(funcs, target="cpu") == first, "from memory"
    _kernels.clear()
    assert [k.artifact for k in par_compile(funcs, target="cpu")] == [k.artifact for k in first], "from disk"
    assert par_compile([], target="cpu") == []


@jit(out_idx=-1, target="cpu")
def factory(amount, n=8):
    if amount < 0:
        raise ValueError("negative")
    return adder(amount, n)


def test_configurations_are_dicts_tuples_or_values():
    kernels = factory.par_compile([{"amount": 1}, (2, 16), 3, [4]])
    assert [added(kernels[0]), added(kernels[1], 16), added(kernels[2]), added(kernels[3])] == [1, 2, 3, 4]
    assert factory(1) is kernels[0]
    assert factory(2, n=16) is kernels[1]


def test_configurations_known_on_disk_need_no_front_end(monkeypatch):
    from tilecore.jit.compile import _kernels

    factory.par_compile([31, 32])
    _kernels.clear()
    factory.forget_kernels()
    monkeypatch.setattr(JITImpl, "get_tir", lambda *a, **k: pytest.fail("the factory ran"))
    assert [added(k) for k in factory.par_compile([31, 32])] == [31, 32]


def test_the_factory_is_not_run_again_by_the_next_call(monkeypatch):
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    kernels = factory.par_compile([33, 34])
    monkeypatch.setattr(JITImpl, "get_tir", lambda *a, **k: pytest.fail("the factory ran"))
    assert [factory(33), factory(amount=34)] == kernels


def test_kernels_with_one_key_are_built_once(monkeypatch):
    built = []
    real = build_jobs.Job.build
    monkeypatch.setattr(build_jobs.Job, "build", lambda self: built.append(self.key) or real(self))
    kernels = par_compile([adder(35), adder(36), adder(35)], out_idx=-1, target="cpu")
    assert [added(k) for k in kernels] == [35, 36, 35]
    assert len(built) == 2


def test_eager_kernels():
    @jit(target="cpu")
    def double(A, factor):
        N = T.const("N")
        A: T.Tensor[[N], T.int32]
        B = T.empty((N,), T.int32)
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = A[i] * factor
        return B

    array = np.arange(4, dtype=np.int32)
    kernels = double.par_compile([{"A": array, "factor": 2}, (T.Tensor((4,), "int32"), 3)])
    assert [k(array).tolist() for k in kernels] == [[0, 2, 4, 6], [0, 3, 6, 9]]
    assert double.compile(array, 2) is kernels[0]
    assert double.compile(array, 3) is kernels[1]


def test_a_prim_func_takes_no_configurations():
    with pytest.raises(LanguageError, match="takes no configurations"):
        jit(adder(1), target="cpu").par_compile([{}])


def test_the_first_failure_names_the_kernel_and_its_configuration(moody):
    with pytest.raises(ToolchainError, match=r"add \(kernel 2 of 2\): the moody compiler refuses"):
        par_compile([adder(1), adder(2, flags=["moody-refuse"])], target=moody, num_workers=1)
    with pytest.raises(TilecoreError, match=r"factory\(amount=-1\): ValueError: negative"):
        factory.par_compile([{"amount": 1}, {"amount": -1}])


def test_labels_are_calls_as_python_prints_them():
    """White space of strings stays, numbers of numpy are their values, and classes are no tensors."""
    args = ("a  b", np.int64(64), np.ndarray, np.zeros((2, 3)), "x" * 80)
    label = label_of(jit(adder), args, {"dtype": np.float16})
    assert label == (f"adder('a  b', 64, <class 'numpy.ndarray'>, float64[2, 3], '{'x' * 56}..., dtype='float16')")


def test_the_first_failure_cancels_the_rest(moody):
    funcs = [adder(1, flags=["moody-refuse"]), *(adder(i, flags=["moody-stall"]) for i in (2, 3))]
    start = time.monotonic()
    with pytest.raises(ToolchainError, match="kernel 1 of 3"):
        par_compile(funcs, target=moody, num_workers=2)
    assert time.monotonic() - start < 20


def test_what_has_not_begun_is_not_compiled_after_a_failure(monkeypatch):
    begun = []

    def build(job):
        begun.append(job.label)
        time.sleep(0.1)
        raise ToolchainError("no")

    monkeypatch.setattr(build_jobs.Job, "build", build)
    with ThreadPoolExecutor(1) as threads, pytest.raises(ToolchainError):
        par_compile([adder(i) for i in range(20)], target="cpu", executor=threads)
    assert len(begun) < 5


@pytest.mark.parametrize("where", ["threads", "processes"])
def test_errors_can_be_ignored(moody, monkeypatch, pool, where):
    if where == "processes":
        processes(monkeypatch, pool)
    funcs = [adder(1), adder(2, flags=["moody-refuse"]), adder(3), adder(4, flags=["moody-refuse"]), "nonsense"]
    with pytest.warns(CompileWarning) as caught:
        kernels = par_compile(funcs, out_idx=-1, target=moody, ignore_error=True)
    assert [k is None for k in kernels] == [False, True, False, True, True]
    assert [added(kernels[0]), added(kernels[2])] == [1, 3]
    (text,) = [str(w.message) for w in caught if w.category is CompileWarning]
    assert "3 of 5 kernels could not be compiled" in text
    assert text.count("the moody compiler refuses") == 1, "each reason once"
    assert "(kernel 2 of 5), add (kernel 4 of 5)" in text
    assert "a str cannot be compiled" in text


def test_a_worker_that_dies_is_named_and_the_others_go_on(moody, monkeypatch, pool):
    processes(monkeypatch, pool)
    funcs = [adder(1), adder(2, flags=["moody-abort"]), adder(3)]
    with pytest.warns(CompileWarning, match=r"kernel 2 of 3\): ToolchainError: .*ended early: .*SIGABRT"):
        kernels = par_compile(funcs, out_idx=-1, target=moody, ignore_error=True)
    assert [kernels[0] is None, kernels[1] is None, kernels[2] is None] == [False, True, False]
    with pytest.raises(ToolchainError, match=r"kernel 1 of 1.*SIGABRT"):
        par_compile([adder(2, flags=["moody-abort"])], target=moody, executor=pool)


def test_errors_of_workers_are_those_of_this_process(pool):
    @T.prim_func
    def unsupported(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            A[0] = T.call_extern("int32", "no_such_function", 1)

    with pytest.raises(TilecoreError) as local:
        par_compile([unsupported], target="cpu")
    with pytest.raises(TilecoreError) as of_worker:
        par_compile([unsupported], target="cpu", executor=pool)
    assert type(of_worker.value) is type(local.value)
    assert str(of_worker.value) == str(local.value)
    assert of_worker.value.location == local.value.location


def test_executors():
    with ThreadPoolExecutor(2) as threads:
        kernels = factory.par_compile([41, 42], executor=threads)
    assert [added(k) for k in kernels] == [41, 42]
    with ProcessPoolExecutor(1) as others:  # forked before it has TVM's threads
        kernels = factory.par_compile([43], executor=others)
    assert [added(k) for k in kernels] == [43]


def test_a_backend_of_this_process_only_is_compiled_here(moody, monkeypatch, pool):
    from tile_moody import Moody

    with manager.register(Moody("byhand")):
        assert not can_be_sent(make_request(target="byhand"))
        monkeypatch.setattr(pool, "submit_timed", lambda *a: pytest.fail("sent to a worker"))
        with pytest.warns(CompileWarning, match="registered in this process only"):
            kernels = par_compile([adder(1), adder(2)], out_idx=-1, target="byhand", executor=pool)
        assert [added(k) for k in kernels] == [1, 2]
        processes(monkeypatch, pool)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernels = par_compile([adder(3), adder(4)], out_idx=-1, target="byhand", num_workers=2)
        assert [added(k) for k in kernels] == [3, 4]
    assert can_be_sent(make_request(target="cpu"))


def test_artifacts_of_another_version_are_not_taken(monkeypatch, pool):
    """A worker that imported newer sources than this process."""
    monkeypatch.setattr(build_jobs.Job, "accepts", lambda self, artifact: False)
    built = []
    real = build_jobs.Job.build
    monkeypatch.setattr(build_jobs.Job, "build", lambda self: built.append(self.label) or real(self))
    kernels = par_compile([adder(61)], out_idx=-1, target="cpu", executor=pool)
    assert added(kernels[0]) == 61
    assert built == ["add (kernel 1 of 1)"]


def test_the_number_of_kernels_decides_where_they_are_compiled(monkeypatch, pool):
    pool_sizes = []
    monkeypatch.setattr(build_many, "shared_pool", lambda size: pool_sizes.append(size) or pool)
    monkeypatch.setattr(build_many, "WORTH_PROCESSES", 3)
    monkeypatch.setattr(build_many, "WORTH_PROCESSES_OF_ONE", 0)
    par_compile([adder(a) for a in (71, 72)], target="cpu", num_workers=2)
    assert pool_sizes == []
    par_compile([adder(a) for a in (73, 74, 75)], target="cpu", num_workers=2)
    assert pool_sizes == [2]
    par_compile([adder(a) for a in (76, 77, 78)], target="cpu", num_workers=1)
    assert pool_sizes == [2], "one worker is no gain"


def test_ctrl_c_ends_everything(tmp_path, moody):
    site = next(p for p in sys.path if (Path(p) / "tile_moody.py").exists())
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import threading, time, os
        import tilecore.language as T
        from tilecore.jit import build_many, worker_pools
        from tilecore.jit.parallel import par_compile

        def adder(amount):
            @T.prim_func
            def add(A: T.Tensor((8,), "int32")):
                with T.Kernel(1):
                    T.annotate_compile_flags(["moody-stall"])
                    for i in T.Parallel(8):
                        A[i] = amount
            return add

        build_many.WORTH_PROCESSES, build_many.WORTH_PROCESSES_OF_ONE = 1, 0
        def watch():
            while worker_pools.live_workers() < 2:
                time.sleep(0.05)
            print(*[r.pid for r in worker_pools._shared._runners], flush=True)
        threading.Thread(target=watch, daemon=True).start()
        try:
            par_compile([adder(i) for i in range(4)], target="moody", num_workers=2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """)
    )
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{site}"}
    child = subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in child.stdout.readline().split()]
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=30)
    assert rest.split() == ["interrupted"]
    assert child.returncode == 0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_progress_is_shown_when_asked_for(capsys):
    par_compile([adder(81)], target="cpu", progress=True)
    assert "compiling" in capsys.readouterr().err
    par_compile([adder(82)], target="cpu")
    assert capsys.readouterr().err == "", "no terminal, no bar"
    assert par_compile_configs(factory, [], progress=True) == []
    assert capsys.readouterr().err == ""


def test_processes_are_worth_it_for_fewer_kernels_where_more_share_their_start(monkeypatch):
    monkeypatch.setattr(build_many, "live_workers", lambda: 0)
    least = {workers: next(n for n in range(200) if build_many._worth_processes(n, workers)) for workers in (2, 8, 16)}
    assert least == {2: 56, 8: 32, 16: 28}
    monkeypatch.setattr(build_many, "live_workers", lambda: 8)
    assert build_many._worth_processes(8, 8)
    assert not build_many._worth_processes(8, 9)


def test_everything_is_on_disk_when_it_ends(fresh_caches):
    """Artifacts are written by other threads meanwhile."""
    from tilecore.jit.compile import _kernels

    par_compile([adder(amount) for amount in range(60, 70)], target="cpu")
    _kernels.clear()
    assert all(tilecore.compile(adder(amount), target="cpu").from_cache for amount in range(60, 70))
