"""Loops to pipeline, and a check that a pipelined kernel has the same results in any order of the engines."""

from __future__ import annotations

import numpy as np
from by_hand import alloc, do, environment, kernel, local, loop, piece, run, tensor, tile
from core_model import Machine
from tile_tpu.lowering.passes.order_engines import ORDER_ENGINES
from tile_tpu.lowering.passes.pipeline_dma import PIPELINE_DMA
from tile_tpu.lowering.passes.plan_local import PLAN_LOCAL

from tilecore.ir.build import const
from tilecore.ir.nodes import Var

X, Y, Z = tensor("X"), tensor("Y"), tensor("Z")
A, B, C, D = (local(n) for n in "abcd")
K = Var("k", "int32")
TILE = 4096
ZERO = const(0.0, "float32")


def at(tensor_, step, rows=64):
    return piece(tensor_, step * TILE, rows)


def pipelined(*body, extent=6, notes=None, var=K):
    return loop("k", extent, *body, notes={"num_stages": 2} if notes is None else notes, var=var)


def results(func, order=("tensor unit", "dma"), strict=False, values=()):
    rng = np.random.default_rng(3)
    memory = {n: rng.uniform(size=1 << 16) for n in "XYZ"}
    machine = Machine(memory, order=order, strict=strict)
    machine.values.update(values)
    with np.errstate(all="ignore"):
        machine.run(func.body)
    return memory, machine


def check(func, env=None, values=()):
    """Runs the kernel before and after the pass, with either engine first. Returns the pipelined kernel and its
    machine."""
    env = environment() if env is None else env
    expected, _ = results(func, values=values)
    pipelined_func = run(PIPELINE_DMA, func, env)
    last = None
    for order in (("tensor unit", "dma"), ("dma", "tensor unit")):
        actual, last = results(pipelined_func, order, values=values)
        for name in expected:
            assert np.array_equal(expected[name], actual[name], equal_nan=True), name
    ready = run(ORDER_ENGINES, run(PLAN_LOCAL, pipelined_func, env), env)
    actual, _ = results(ready, strict=True, values=values)
    for name in expected:
        assert np.array_equal(expected[name], actual[name], equal_nan=True), name
    return pipelined_func, last, env


def product(*, total=C):
    return [
        do("load", tile(A), at(X, K)),
        do("load", tile(B), at(Y, K)),
        do("mm", tile(total), tile(A), tile(B), const(1, "bool")),
    ]


def summed(*step, tiles=(A, C), params=(X, Y, Z), **options):
    """A loop that adds to C, which is cleared before the loop and stored after it."""
    clear, keep = do("fill", tile(C), ZERO), do("store", at(Z, 0), tile(C))
    return kernel(list(params), *alloc(*tiles), clear, pipelined(*step, **options), keep)


def matmul(extent=6, **options):
    return summed(*product(), tiles=(A, B, C), extent=extent, **options)
