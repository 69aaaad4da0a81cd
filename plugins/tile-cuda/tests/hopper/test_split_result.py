"""Slices of a result that the blocks of a cluster add and store: layouts, results, and kernels that have no slices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_cuda.lowering.hopper.add_parts import PIECE, registers_of_slices

import tilecore.language as T
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

from .kernels import matmul, operands, product
from .kit import CONFIGS, body, built, element, rows, wide

HALF = "float16"
IDLE = "cuda -arch=sm_90a -multiprocessors=64"


def checked(sizes, asked, **options):
    kinds = options.get("kinds", (HALF, HALF, "float32"))
    kernel = built(matmul(*sizes, **options), target=IDLE, configs={CONFIGS.TL_SPLIT_K: asked})
    ta, tb = options.get("ta", False), options.get("tb", False)
    a, b = operands(sizes, kinds, ta, tb, most=1)
    c = np.full(sizes[:2], -1).astype(element(options.get("out") or kinds[2]))
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), product(a, b, ta, tb))
    assert not rows(kernel, "split_k")
    return kernel


def sums(kernel):
    """How many statements add what another block has written."""
    return len(re.findall(r"tc_add_remote<", body(kernel)))


SINGLE = ("float32", "float32", "float32")
SLICED = [  # the form, the parts, the ranges of registers of a slice
    ({"tile": (64, 64, 64), "out": HALF}, 2, 1),
    ({"tile": (64, 128, 64), "threads": 128}, 4, 1),
    ({"tile": (128, 128, 64), "threads": 256, "out": HALF, "tb": True}, 2, 1),
    ({"tile": (128, 64, 64), "threads": 128, "out": HALF}, 2, 1),
    ({"tile": (128, 64, 64), "threads": 128, "out": HALF}, 4, 2),  # columns of two instructions along M
    ({"tile": (64, 64, 32), "kinds": SINGLE, "threads": 128, "stages": 4}, 4, 1),
    ({"tile": (64, 64, 32), "kinds": SINGLE, "threads": 128, "stages": 4, "ta": True}, 2, 1),
    ({"tile": (32, 128, 64), "kinds": SINGLE, "threads": 64, "stages": 3, "tb": True}, 2, 1),
]


@pytest.mark.parametrize(("form", "parts", "ranges"), SLICED, ids=str)
def test_every_block_stores_a_slice(form, parts, ranges):
    for sizes in ((128, 128, 512), (104, 80, 504)):  # whole tiles, and tiles that end outside of C
        assert sums(checked(sizes, parts, **form)) == parts * (parts - 1) * ranges


def test_parts_that_do_not_divide_the_tile():
    assert sums(checked((64, 64, 512), 3, tile=(64, 64, 64), out=HALF)) == 2


def test_warpgroups_side_by_side_have_no_slices_of_columns():
    assert sums(checked((64, 256, 512), 2, tile=(64, 128, 64), threads=256)) == 1


@pytest.mark.parametrize("epilogue", ["scaled", "two stores", "part of a tensor"])
def test_what_follows_the_loop(epilogue):
    """A store to a part of a larger tensor has slices; other work is done by the first block."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 512), HALF), B: T.Tensor((512, 64), HALF), C: T.Tensor((2, 80, 128), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            if epilogue == "scaled":
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] * 2
            T.copy(c, C[1, 8:72, 32:96])
            if epilogue == "two stores":
                T.copy(c, C[0, 8:72, 32:96])

    compiled = built(kernel, target=IDLE, configs={CONFIGS.TL_SPLIT_K: 2})
    a, b = operands((64, 64, 512), (HALF, HALF, "float32"), most=1)
    c = np.full((2, 80, 128), -1, np.float32)
    compiled(a, b, c)
    expected = np.full((2, 80, 128), -1.0)
    expected[1, 8:72, 32:96] = product(a, b) * (2 if epilogue == "scaled" else 1)
    if epilogue == "two stores":
        expected[0, 8:72, 32:96] = product(a, b)
    np.testing.assert_array_equal(c, expected)
    assert sums(compiled) == (2 if epilogue == "part of a tensor" else 1)


@st.composite
def layouts(draw):
    """Layouts whose digits alternate in any order between threads and registers."""
    digits, sizes, nexts = [], [1, 1], {THREAD: 1, REGISTER: 1}
    for _ in range(draw(st.integers(1, 5))):
        axis, where = draw(st.integers(0, 1)), draw(st.sampled_from([THREAD, REGISTER]))
        extent = draw(st.sampled_from([2, 3, 4]))
        digits.append(Digit(axis, sizes[axis], extent, where, nexts[where]))
        sizes[axis] *= extent
        nexts[where] *= extent
    return FragmentLayout(tuple(sizes), nexts[THREAD], tuple(digits))


@settings(deadline=None, max_examples=150)
@given(layouts(), st.integers(0, 1), st.sampled_from([2, 3, 4]))
def test_registers_of_slices(layout, axis, parts):
    """A slice is a set of registers if every thread finds the elements of the slice in these, and in no others."""
    slices = registers_of_slices(layout, axis, parts)
    if layout.shape[axis] % parts:
        assert slices is None
        return
    size = layout.shape[axis] // parts
    places = [
        {int(layout.indices(thread, register)[axis]) // size for thread in range(layout.threads)}
        for register in range(layout.registers)
    ]
    whole = all(len({min(p) for p in places[r : r + PIECE]}) == 1 for r in range(0, layout.registers, PIECE))
    if slices is None:
        assert any(len(place) > 1 for place in places) or not whole or layout.registers % PIECE
        return
    for part, ranges in enumerate(slices):
        held = [register for registers in ranges for register in registers]
        assert held == [register for register, place in enumerate(places) if place == {part}]
        assert all(r.start % PIECE == len(r) % PIECE == 0 for r in ranges)
