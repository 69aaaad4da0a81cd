"""Random kernels of copies, products and work of threads in random order, with circular buffers of random lengths.

A program is a list of loops, (steps, stages, what a step does). All values are whole numbers that every type holds, so
the kernel and the interpreter give the same.
"""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, built, small

HALF = "float16"
ROWS, DEPTH, WIDTH, BLOCKS = 128, 32, 64, 3
FILLED = ("a0", "a1", "b0", "b1", "w")
ONE = "cuda -arch=sm_90a -multiprocessors=1"


@T.macro
def fill(name, shift, step, k):
    at = (step + shift) % 4 * DEPTH
    if name.startswith("a"):
        T.copy(k["A"][k["row"], at], k[name])
    elif name.startswith("b"):
        T.copy(k["B"][at, 0], k[name])
    else:
        T.copy(k["B"][at % 64, 0], k[name])


@T.macro
def run(program, step, k):
    for operation in program:
        match operation:
            case ("fill", name, shift):
                fill(name, shift, step, k)
            case ("product", sums, a, b, clears):
                T.gemm(k[a], k[b], k[sums], clear_accum=step == 0 if clears == "first" else clears)
            case ("product with A in registers", sums, a, b):
                T.copy(k[a], k["part"])
                T.gemm(k["part"], k[b], k[sums])
            case ("chained", source, to):
                for i, j in T.Parallel(ROWS, WIDTH):
                    k[to][i, j] = T.cast(T.max(T.min(k[source][i, j], 4.0), -4.0), HALF)
                T.gemm(k[to], k["w"], k["d" if source == "c" else "c"])
            case ("add", sums, number):
                for i, j in T.Parallel(ROWS, WIDTH):
                    k[sums][i, j] += number
            case ("rows", sums):
                T.reduce_max(k[sums], k["most"], dim=1, clear=False)
            case ("look", name):
                for i, j in T.Parallel(ROWS, DEPTH):
                    k["seen"][i, j] += k[name][i, j]
            case ("if", number, inside):
                if step % 2 == number:
                    run(inside, step, k)


def kernel_of(loops, threads):
    @T.prim_func
    def random_pipeline(
        A: T.Tensor((ROWS * BLOCKS, 4 * DEPTH), HALF), B: T.Tensor((4 * DEPTH, WIDTH), HALF), steps: T.int32,
        C: T.Tensor((ROWS * BLOCKS, WIDTH), "float32"), D: T.Tensor((ROWS * BLOCKS, WIDTH), "float32"),
        M: T.Tensor((ROWS * BLOCKS,), "float32"), S: T.Tensor((ROWS * BLOCKS, DEPTH), HALF),
    ):  # fmt: skip
        with T.Kernel(BLOCKS, threads=threads) as by:
            a0, a1 = T.alloc_shared((ROWS, DEPTH), HALF), T.alloc_shared((ROWS, DEPTH), HALF)
            b0, b1 = T.alloc_shared((DEPTH, WIDTH), HALF), T.alloc_shared((DEPTH, WIDTH), HALF)
            w, cast_tile = T.alloc_shared((WIDTH, WIDTH), HALF), T.alloc_shared((ROWS, WIDTH), HALF)
            cast_fragment, part = T.alloc_fragment((ROWS, WIDTH), HALF), T.alloc_fragment((ROWS, DEPTH), HALF)
            c, d = T.alloc_fragment((ROWS, WIDTH), "float32"), T.alloc_fragment((ROWS, WIDTH), "float32")
            most, seen = T.alloc_fragment((ROWS,), "float32"), T.alloc_fragment((ROWS, DEPTH), HALF)
            k = {"A": A, "B": B, "row": by * ROWS, "a0": a0, "a1": a1, "b0": b0, "b1": b1, "w": w,
                 "cast_tile": cast_tile, "cast_fragment": cast_fragment, "part": part, "c": c, "d": d, "most": most,
                 "seen": seen}  # fmt: skip
            for name in ("c", "d", "most", "seen"):
                T.clear(k[name])
            for count, stages, program in loops:
                for step in T.Pipelined(steps if count == 0 else count, num_stages=stages):
                    run(program, step, k)
            T.copy(k["c"], C[by * ROWS, 0])
            T.copy(k["d"], D[by * ROWS, 0])
            T.copy(k["most"], M[by * ROWS])
            T.copy(k["seen"], S[by * ROWS, 0])

    return random_pipeline


A_TILES, B_TILES, SUMS = st.sampled_from(["a0", "a1"]), st.sampled_from(["b0", "b1"]), st.sampled_from(["c", "d"])
PLAIN = st.one_of(
    st.tuples(st.just("product"), SUMS, A_TILES, B_TILES, st.sampled_from([False, False, True, "first"])),
    st.tuples(st.just("product with A in registers"), SUMS, A_TILES, B_TILES),
    st.tuples(st.just("chained"), SUMS, st.sampled_from(["cast_fragment", "cast_tile"])),
    st.tuples(st.just("add"), SUMS, st.integers(1, 3)),
    st.tuples(st.just("rows"), SUMS),
    st.tuples(st.just("look"), A_TILES),
)


def used(work):
    """The tiles that must have been loaded."""
    match work:
        case ("if", _, inside):
            return [name for part in inside for name in used(part)]
        case ("chained", *_):
            return ["w"]
        case _:
            return [word for word in work[1:] if word in FILLED]


@st.composite
def steps_of_loops(draw):
    """Chooses where each tile is loaded: anywhere before its first use; some tiles again later."""
    conditional = st.tuples(st.just("if"), st.integers(0, 1), st.lists(PLAIN, min_size=1, max_size=2))
    program = draw(st.lists(st.one_of(PLAIN, PLAIN, PLAIN, conditional), min_size=1, max_size=5))
    for name in FILLED:
        first = next((n for n, work in enumerate(program) if name in used(work)), None)
        if first is not None:
            program.insert(draw(st.integers(0, first)), ("fill", name, draw(st.integers(0, 3))))
            if draw(st.integers(0, 5)) == 0:
                program.insert(draw(st.integers(first + 1, len(program))), ("fill", name, 1))
    return program


LOOPS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 5]), st.sampled_from([0, 1, 2, 2, 3, 4]), steps_of_loops()),
    min_size=1, max_size=2,
)  # fmt: skip
OFF = st.sampled_from([(), (), (), (CONFIGS.TL_DISABLE_PRODUCT_OVERLAP,), (CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,),
                       (CONFIGS.TL_DISABLE_WARP_SPECIALIZED,)])  # fmt: skip


@settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)  # fmt: skip
@given(loops=LOOPS, threads=st.sampled_from([128, 256]), steps=st.integers(0, 4), off=OFF)
def test_random_pipelines(loops, threads, steps, off):
    func = kernel_of(loops, threads)
    kernel = built(func, *off, target=ONE)
    shapes = [(ROWS * BLOCKS, WIDTH)] * 2 + [(ROWS * BLOCKS,)]
    results = [np.zeros(shape, np.float32) for shape in shapes] + [np.zeros((ROWS * BLOCKS, DEPTH), np.float16)]
    inputs = small(HALF, (ROWS * BLOCKS, 4 * DEPTH), 0, 1), small(HALF, (4 * DEPTH, WIDTH), 1, 1)
    as_interpreted(func, kernel, *inputs, steps, *results)
