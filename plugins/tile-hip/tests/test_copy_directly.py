"""Copies from global memory straight to LDS on gfx950: which copies are, what they write, and that waits are needed."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from assembly import assembly, kernels
from tile_hip import compilers
from tile_hip.toolchain import INCLUDE

import tilecore
import tilecore.language as T
from tilecore.layout import make_swizzled_layout
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.errors import SimulationError

TILE, DEPTH = 64, 64
RAGGED = (120, 100, 200)


def product(m, n, k, stages, is_padded=False):
    @T.prim_func
    def matmul(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, TILE), T.ceildiv(m, TILE), threads=256) as (bx, by):
            a, b = T.alloc_shared((TILE, DEPTH), "float16"), T.alloc_shared((TILE, DEPTH), "float16")
            c = T.alloc_fragment((TILE, TILE), "float32")
            if is_padded:
                T.annotate_padding({a: 8, b: 8})
            else:
                T.annotate_layout({a: make_swizzled_layout(a), b: make_swizzled_layout(b)})
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, DEPTH), num_stages=stages):
                T.copy(A[by * TILE, step * DEPTH], a)
                T.copy(B[bx * TILE, step * DEPTH], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * TILE, bx * TILE])

    return matmul


def compiled(*args, target="hip -arch=gfx950", **options):
    return tilecore.compile(product(*args, **options), target=target, execution_backend="sim")


def operands(m, n, k):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, k)).astype(np.float16) for rows in (m, n))
    return a, b, np.zeros((m, n), np.float32)


def run(kernel, source, arrays):
    entry = kernel.artifact.entries[0]
    device = SimulatedDevice(warp=64, allow_same_value=True, shared_limit=160 << 10)
    library = device.compile(source, [entry.symbol], INCLUDE, ["-DTC_WAVE=64", "-DTC_ISA_VERSION=9500"])
    params = zip(kernel.artifact.params, arrays, strict=True)
    arguments = [Tensor(p.name, a.ctypes.data, p.dtype, a.shape, p.access) for p, a in params]
    grid = (-(-RAGGED[1] // TILE), -(-RAGGED[0] // TILE), 1)
    device.run(library, entry.symbol, grid, entry.threads, arguments, entry.shared_bytes)


@pytest.mark.parametrize(("sizes", "stages", "wait"), [((128, 64, 256), 2, 0), (RAGGED, 3, 4)])
def test_products_of_tiles_that_are_copied_directly(sizes, stages, wait):
    kernel = compiled(*sizes, stages)
    source = kernel.get_kernel_source()
    assert source.count("tc_copy_to_lds<16>") == 2 * stages
    assert re.findall(r"tc_wait_copies<(\d+)>", source) == [str(wait), "0"]
    a, b, c = operands(*sizes)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


@pytest.mark.parametrize("changed", ["", "tc_wait_copies<5>();"])
def test_a_wait_for_too_little_is_found(changed):
    """The copies land late: without the wait, or with one that leaves a load too many in flight, they are missing."""
    kernel = compiled(*RAGGED, 3)
    source = kernel.get_kernel_source()
    run(kernel, source, operands(*RAGGED))
    with pytest.raises(SimulationError):
        run(kernel, source.replace("tc_wait_copies<4>();", changed), operands(*RAGGED))


def test_lanes_write_side_by_side():
    """What hardware does with a copy whose lanes have places of their own: they follow the first one's."""
    kernel = compiled(*RAGGED, 2)
    source = kernel.get_kernel_source()
    wrong = re.sub(r"tc_copy_to_lds<16>\((a .*?)tx \* 8, ", r"tc_copy_to_lds<16>(\1(tx ^ 1) * 8, ", source)
    assert wrong != source
    right, other = operands(*RAGGED), operands(*RAGGED)
    run(kernel, source, right)
    with contextlib.suppress(SimulationError):  # some of them write behind the tile; then C stays as it was
        run(kernel, wrong, other)
    assert (right[2] == right[0].astype(np.float32) @ right[1].T.astype(np.float32)).all()
    assert (right[2] != other[2]).any()


def test_padded_tiles_and_other_chips_copy_by_registers():
    for options in ({"is_padded": True}, {"target": "hip -arch=gfx942"}, {"target": "hip -arch=gfx1100"}):
        source = compiled(*RAGGED, 2, **options).get_kernel_source()
        assert "tc_move<" in source
        assert "tc_copy_to_lds" not in source
        assert "tc_wait_copies" not in source


def test_copies_stay_in_flight(tmp_path):
    if not any("gfx950" in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip("there is no compiler for gfx950")
    (body,) = kernels(assembly(compiled(*RAGGED, 3).get_kernel_source(), "gfx950", tmp_path)).values()
    waits = [text for text in body if "vmcnt" in text and "s_waitcnt" in text]
    copies = [text for text in body if text.startswith("global_load_lds_dwordx4")]
    assert len(copies) == 12
    assert waits[0] == "s_waitcnt vmcnt(4)"
    between = body[body.index(waits[0]) : body.index(waits[1])]
    assert sum(text.startswith("ds_read_b128") for text in between) > 8, "reads of the tile wait for no later copy"
