"""Barriers are removed from compiled kernels one by one: where a run on the simulated device shows that one is needed,
the race check (tilecore/lowering/race_check) reports it too, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import TilecoreError
from tilecore.ir.build import nothing, op_name
from tilecore.ir.nodes import Evaluate, IRModule, structural_map
from tilecore.ir.visit import collect
from tilecore.jit.compile import kernel_of
from tilecore.jit.request import build, make_request
from tilecore.lowering import pipeline
from tilecore.lowering.race_check.check_order import conflicts_in
from tilecore.simulate.errors import SimulationError

M = 16
ORDERS = ("simt.barrier", "simt.named_barrier", "simt.warp_barrier", "simt.wait_async")
SEEN_BY_RUNS = ("race", "missing_wait", "uninitialised")
BODIES = 9


def small(v: int, threads: int) -> Any:
    """Kernels whose shared tiles are read by other threads than those that write them."""

    @T.prim_func
    def kernel(X: T.Tensor((2, M, M), "int32"), Y: T.Tensor((M, M), "int32")):
        with T.Kernel(1, threads=threads):
            s, t = T.alloc_shared((M, M), "int32"), T.alloc_shared((M, M), "int32")
            f, r = T.alloc_fragment((M, M), "int32"), T.alloc_fragment((M,), "int32")
            n = T.alloc_var("int32", init=0)
            T.copy(X[0, 0, 0], s)
            T.copy(X[1, 0, 0], t)
            if v == 0:
                for i, j in T.Parallel(M, M):
                    f[i, j] = s[(i + 1) % M, j]
                for i, j in T.Parallel(M, M):
                    s[i, j] = f[i, j] + t[j, i]
            elif v == 1:
                if s[3, 5] > 0:
                    for i, j in T.Parallel(M, M):
                        s[i, j] = t[M - 1 - i, j] * 2
            elif v == 2:
                while s[1, 1] < 1000 and n < 3:
                    for i, j in T.Parallel(M, M):
                        s[i, j] = s[i, j] + t[(i + 1) % M, j]
                    n += 1
            elif v == 3:
                for _ in T.serial(T.max(T.min(s[2, 2], 3), 1)):
                    for i, j in T.Parallel(M, M):
                        t[i, j] = s[M - 1 - i, j]
                    for i, j in T.Parallel(M, M):
                        s[i, j] = t[i, (j + 3) % M]
            elif v == 4:
                T.copy(s, f)
                T.reduce_sum(f, r, dim=1)
                if r[M - 1] > -1000:
                    T.reduce_max(f, r, dim=0)
                for i, j in T.Parallel(M, M):
                    s[i, j] = r[j]
            elif v == 5:
                T.transpose(s, t)
                T.cumsum(t, dim=1)
                T.transpose(t, s)
            elif v == 6:
                for k in T.serial(4):
                    for i, j in T.Parallel(M, M):
                        t[i, j] = s[(i + k) % M, (j + 1) % M]
                    for i, j in T.Parallel(M, M):
                        s[i, j] = t[j, i] + k
            elif v == 7:
                for k in T.serial(6):
                    for j in T.Parallel(M):
                        t[k % 3, j] = s[k, M - 1 - j]
                    for j in T.Parallel(M):
                        s[k + 8, j] = t[(k + 1) % 3, M - 1 - j]
            else:
                if s[0, 0] > t[0, 0]:
                    for i, j in T.Parallel(M, M):
                        t[i, j] = s[j, i]
                else:
                    for i, j in T.Parallel(M, M):
                        s[i, j] = t[j, i]
                for i, j in T.Parallel(M, M):
                    s[i, j] = s[i, j] + t[(i + 9) % M, j]
            T.copy(s, Y)

    return kernel


def product(stages: int, threads: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


def arguments(kind: str) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    if kind == "product":
        a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
        return [a, b, np.zeros((64, 64), np.float32)]
    return [rng.integers(1, 9, (2, M, M)).astype(np.int32), np.zeros((M, M), np.int32)]


def orders_in(module: IRModule) -> int:
    return sum(op_name(n.value) in ORDERS for f in module.functions.values() for n in collect(f.body, Evaluate))


def without(module: IRModule, number: int) -> IRModule:
    seen = -1

    def change(node: Evaluate) -> Any:
        nonlocal seen
        if op_name(node.value) not in ORDERS:
            return node
        seen += 1
        return nothing() if seen == number else node

    functions = {str(v.name_hint): f for v, f in module.functions.items()}
    return IRModule({k: f.with_body(structural_map(f.body, (Evaluate, change))) for k, f in functions.items()})


def broken(func: Any, target: str, number: int, patch: pytest.MonkeyPatch) -> tuple[Callable[[], Any], list[Any], int]:
    """(a function that makes the kernel without the barrier of this index, the conflicts of the race check, the number
    of barriers)."""
    lower, results = pipeline.lower, []

    def lowered(*args: Any) -> Any:
        module = lower(*args)
        results.append(orders_in(module))
        module = without(module, number)
        results.append([error for f in module.functions.values() for error in conflicts_in(f)])
        return module

    with patch.context() as patched:
        patched.setattr(pipeline, "lower", lowered)
        request = make_request(target=target)
        artifact = build(func.ir, request)
    return partial(kernel_of, artifact, request, lambda: func.ir), results[1], results[0]


def runs(kernel: Any, args: list[np.ndarray]) -> bool:
    """Whether the kernel runs without an error that a missing barrier or wait causes."""
    try:
        kernel(*args)
    except SimulationError as error:
        if error.kind in SEEN_BY_RUNS:
            return False
        raise
    return True


CASES = [(f"small-{v}-{threads}", v, threads) for v in range(BODIES) for threads in (64, 128)]
CASES += [(f"product-{stages}-{threads}", stages, threads) for stages in (1, 2, 3) for threads in (32, 128)]


@pytest.mark.parametrize("target", ["cuda -arch=sm_80"])  # of sm_90a four kernels have barriers in memory
@pytest.mark.parametrize(("name", "variant", "threads"), CASES, ids=[case[0] for case in CASES])
def test_the_race_check_reports_the_barriers_that_runs_need(name, variant, threads, target, monkeypatch, tmp_path):
    kind = name.split("-")[0]
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    monkeypatch.setenv("TILECORE_CHECK", "0")
    number, count, reported = -1, 1, 0
    while number < count:
        func = (product if kind == "product" else small)(variant, threads)
        try:
            make_kernel, conflicts, count = broken(func, target, number, monkeypatch)
        except TilecoreError as error:
            pytest.skip(f"refused: {error.message}")
        if number == -1:
            assert not conflicts
            assert runs(make_kernel(), arguments(kind))
        elif not conflicts:  # what is reported need not be compiled and run, too
            needed = not runs(make_kernel(), arguments(kind))
            assert not needed, f"barrier {number} of {count} is needed, and the race check does not report it"
        reported += bool(conflicts)
        number += 1
    counts = f"{count} barriers and waits, {reported} reported by the race check"
    print(f"{name} on {target}: {counts}")
