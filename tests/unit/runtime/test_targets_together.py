"""Several targets in one process: threads that take them in turn get each target's own kernel, from its own entry."""

from __future__ import annotations

import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from kernel_caches import cached_entries

import tilecore
import tilecore.language as T
from tilecore.jit.compile import _kernels
from tilecore.plugins import manager

sys.path.append(str(Path(__file__).parents[2] / "fixtures" / "twin_backend"))
from tile_twin import DeviceTensor, Twin

ROUNDS = 12


@pytest.fixture
def targets(monkeypatch, fresh_caches):
    """Options of compilation by target; twin's devices are used in turn."""
    monkeypatch.delenv("TILECORE_SIMULATE", raising=False)
    with manager.register(Twin(), package="tile-twin"):
        options = {words: {"target": words} for words in ("cpu", "cpu -march=generic", "twin")}
        if "cuda" in manager.kinds() and shutil.which("cc"):
            options["cuda"] = {"target": "cuda -arch=sm_80", "execution_backend": "sim"}
        yield options


def kernel_for(rows, factor):
    @T.prim_func
    def scaled(X: T.Tensor((rows, 32), "float32"), Y: T.Tensor((rows, 32), "float32")):
        with T.Kernel(rows, threads=32) as b:
            for i in T.Parallel(32):
                Y[b, i] = X[b, i] * factor

    return scaled


def check(kernel, words, number):
    x = np.arange(32 * 3, dtype=np.float32).reshape(3, 32) + number
    y = np.zeros_like(x)
    if words in ("twin", "second"):
        on_device = DeviceTensor(y, number % 2)
        kernel(DeviceTensor(x, number % 2), on_device)
        y = on_device.array
    else:
        kernel(x, y)
    np.testing.assert_array_equal(y, 3 * x)


def test_threads_take_targets_in_turn(targets, fresh_caches):
    """They compile at once, too: nobody has compiled before."""
    func, names = kernel_for(3, 3.0), list(targets)
    start = threading.Barrier(4)

    def work(number):
        start.wait(60)
        seen = {}
        for step in range(ROUNDS):
            words = names[(number + step) % len(names)]
            kernel = tilecore.compile(func, **targets[words])
            assert kernel.target.kind == words.split()[0]
            assert seen.setdefault(words, kernel) is kernel
            check(kernel, words, number + step)
        return seen

    with ThreadPoolExecutor(4) as pool:
        kernels_of_threads = list(pool.map(work, range(4), timeout=240))
    for words in names:
        assert len({id(seen[words]) for seen in kernels_of_threads}) == 1, "one kernel for all threads"
    assert len({str(kernel.artifact.target) for kernel in kernels_of_threads[0].values()}) == len(names)
    entries = cached_entries(fresh_caches)
    assert len(entries) == len(names), "an entry for each target"
    _kernels.clear()  # as in another process
    for words in names:
        kernel = tilecore.compile(func, **targets[words])
        assert kernel.from_cache
        assert str(kernel.artifact.target) == str(kernels_of_threads[0][words].artifact.target)
        check(kernel, words, 1)
    assert cached_entries(fresh_caches) == entries


def test_a_target_that_goes_takes_nothing_along(targets, fresh_caches):
    func = kernel_for(3, 3.0)
    kernels = {}
    with manager.register(Twin(kind="second"), package="tile-second"):
        for words, options in {**targets, "second": {"target": "second"}}.items():
            kernels[words] = tilecore.compile(func, **options)
    entries = cached_entries(fresh_caches)
    assert len(entries) == len(kernels)
    assert "second" not in manager.kinds()
    for words, kernel in kernels.items():
        check(kernel, words, 2)  # also the one whose target is gone
    assert cached_entries(fresh_caches) == entries
