"""TVM's forms that TileLang re-exports, and parameters under TileLang's names, against numpy and Python."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from fresh_processes import output_of

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, LaunchError, UnsupportedError
from tilecore.interpreter import interpret

LANES = 32


def run(kernel, *arrays):
    interpret(kernel.ir, *arrays)
    return arrays


def test_conditions_by_with():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(8):
                with T.If(A[i] > 3):
                    with T.Then():
                        B[i] = A[i] * 10
                    with T.Else():
                        with T.If(A[i] == 0):
                            with T.Then():
                                B[i] = -1
                with T.If(False):
                    with T.Then():
                        B[i] = 99

    a, b = np.arange(8, dtype=np.int32), np.full(8, 7, np.int32)
    expected = np.where(a > 3, a * 10, np.where(a == 0, -1, 7))
    run(kernel, a, b)
    assert (b == expected).all()
    compiled = np.full(8, 7, np.int32)
    tilecore.compile(kernel, target="cpu")(a, compiled)
    assert (compiled == expected).all()


@pytest.mark.parametrize("side", ["Then", "Else"])
def test_a_side_without_its_condition(side):
    with pytest.raises(LanguageError, match=f"T.{side} stands outside of T.If"):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=1):
                with getattr(T, side)():
                    A[0] = 1

    with pytest.raises(LanguageError, match=r"T.If has no T.Then"):

        @T.prim_func
        def other(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=1):
                with T.If(A[0] > 0):
                    A[0] = 1


def test_indices_extents_and_barriers():
    extents = {}

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "int32")):
        with T.Kernel(4, 2, threads=(32, 2)) as (_bx, by):
            tx = T.launch_thread("threadIdx.x", 32)
            row = T.launch_thread("blockIdx.x", 4)
            extents["threads"], extents["blocks"] = T.get_thread_extents(), T.get_block_extents()
            extents["y"] = T.get_block_extent(1)
            shared = T.alloc_shared((32,), "int32")
            if T.get_thread_binding(1) == 0:
                shared[tx] = tx + 100 * row
            T.tvm_storage_sync("shared")
            if T.get_thread_binding(1) == 1:
                A[row, by * 32 + tx] = shared[31 - tx]

    a = np.zeros((4, 64), np.int32)
    run(kernel, a)
    assert (a == np.concatenate([np.arange(31, -1, -1)] * 2)[None] + 100 * np.arange(4)[:, None]).all()
    assert extents == {"threads": [32, 2, 1], "blocks": [4, 2, 1], "y": 2}


@pytest.mark.parametrize(
    ("thread", "message"),
    [
        ("threadIdx.x", r"T.launch_thread has 64 along threadIdx.x"),
        ("lane", r"T.launch_thread: 'lane' is no index"),
    ],
)
def test_a_wrong_axis(thread, message):
    with pytest.raises(LanguageError, match=message):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=32):
                A[T.launch_thread(thread, 64)] = 1


def test_a_barrier_of_all_blocks():
    with pytest.raises(UnsupportedError, match=r"T.sync_grid\(\) waits for all blocks"):

        @T.prim_func
        def other(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=32):
                T.tvm_storage_sync("global")


def test_buffers_by_tvms_names():
    @T.prim_func
    def kernel(a: T.handle, B: T.Tensor((16,), "float32")):
        A = T.match_buffer(a, (4, 4), "float32", align=16)
        with T.Kernel(1, threads=4):
            tile = T.decl_buffer((4, 4), "float32", scope="shared")
            flat = T.decl_buffer((16,), "float32", data=tile)
            rows = T.match_buffer(B, (4, 4))
            T.copy(A, tile)
            total = T.bind(flat[3] + 1.0, "float32")
            for i in T.Parallel(16):
                T.buffer_store(B, flat[i] + total, [i])
            rows[0, 0] = -1.0

    a, b = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros(16, np.float32)
    run(kernel, a, b)
    assert b[0] == -1
    assert (b[1:] == a.ravel()[1:] + 4).all()


def test_values_of_a_warp():
    @T.prim_func
    def kernel(X: T.Tensor((LANES,), "int32"), P: T.Tensor((5, LANES), "uint32")):
        with T.Kernel(1, threads=LANES):
            lane = T.get_lane_idx()
            x = X[lane]
            P[0, lane] = T.match_any_sync(x)
            P[1, lane] = T.match_all_sync(x)
            P[2, lane] = T.match_all_sync(7)
            P[3, lane] = T.cast(T.activemask(), "uint32")
            P[4, lane] = T.cast(T.tvm_warp_shuffle(0xFFFFFFFF, x, 31 - lane, 32, 32), "uint32")

    x = np.random.default_rng(0).integers(0, 5, LANES).astype(np.int32)
    p = np.zeros((5, LANES), np.uint32)
    run(kernel, x, p)
    assert p[0].tolist() == [sum(1 << i for i in range(LANES) if x[i] == v) for v in x]
    assert not p[1].any()
    assert (p[2:4] == 0xFFFFFFFF).all()
    assert (p[4] == x[::-1]).all()


def first_bit(value):
    return (value & -value).bit_length()


def nth_bit(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [place for place in places if mask >> place & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def test_searches_for_bits():
    @T.prim_func
    def kernel(
        M: T.Tensor((64,), "uint32"), W: T.Tensor((64,), "int64"), N: T.Tensor((64, 2), "int32"),
        F: T.Tensor((64, 2), "int32"), P: T.Tensor((64,), "uint32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1):
            for i in T.serial(64):
                F[i, 0] = T.__ffs(M[i])
                F[i, 1] = T.__ffs(W[i])
                P[i] = T.__fns(M[i], N[i, 0], N[i, 1])

    random = np.random.default_rng(1)
    m = (random.integers(0, 2**32, 64) & random.integers(0, 2**32, 64)).astype(np.uint32)
    m[:3] = 0, 1, 1 << 31
    w = np.array([1 << (i % 64) if i % 3 else 0 for i in range(64)], np.uint64).view(np.int64)
    n = np.stack([random.integers(0, 32, 64), random.integers(-4, 5, 64)], 1).astype(np.int32)
    f, p = np.zeros((64, 2), np.int32), np.zeros(64, np.uint32)
    run(kernel, m, w, n, f, p)
    assert f[:, 0].tolist() == [first_bit(int(v)) for v in m]
    assert f[:, 1].tolist() == [first_bit(int(v) % 2**64) for v in w]
    assert p.tolist() == [nth_bit(int(v), int(b), int(o)) for v, (b, o) in zip(m, n, strict=True)]
    compiled = np.zeros(64, np.uint32)
    tilecore.compile(kernel, target="cpu")(m, w, n, f, compiled)
    assert (compiled == p).all()


def test_rounding_away_from_zero_and_reciprocals():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, threads=1):
            for i in T.Parallel(64):
                Y[0, i] = T.round(X[i], rounding_mode="ties-away-from-zero")
                Y[1, i] = T.round(X[i])
                Y[2, i] = T.fast_rcp(X[i])
                Y[3, i] = T.fabs(X[i])

    x = np.concatenate([np.arange(-8, 8, 0.5), np.random.default_rng(2).normal(size=32)]).astype(np.float32)
    x[16], x[40] = 0.49999997, -0.49999997
    y = np.zeros((4, 64), np.float32)
    run(kernel, x, y)
    assert (y[0] == np.trunc(x) + np.where(abs(x - np.trunc(x)) >= 0.5, np.sign(x), 0)).all()
    assert (y[1] == np.rint(x)).all()
    assert (y[2] == np.float32(1) / x).all()
    assert (y[3] == abs(x)).all()
    with pytest.raises(LanguageError, match="the rounding mode 'up' is unknown"):
        T.round(1.5, "up")


def test_classes_of_expressions():
    kinds = []

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(2, threads=4) as b:
            kinds.append(isinstance(b + 1, T.Add) and isinstance(b * 2 < 4, T.LT))
            A[b] = 1

    assert kinds == [True]


RENAMED = [
    ("atan2", {"x1": 1.0, "x2": 2.0}, {"x": 1.0, "y": 2.0}),
    ("shift_left", {"x": 1, "y": 3}, {"a": 1, "b": 3}),
    ("align_up", {"x": 5, "y": 4}, {"value": 5, "alignment": 4}),
]


@pytest.mark.parametrize(("name", "by_tilelang", "by_ours"), RENAMED)
def test_parameters_have_tilelangs_names_and_ours_go_on_working(name, by_tilelang, by_ours):
    function = getattr(T, name)
    assert list(inspect.signature(function).parameters) == list(by_tilelang)
    assert str(function(**by_tilelang)) == str(function(**by_ours))
    first = next(iter(by_ours.items()))
    with pytest.raises(TypeError, match="twice, also as"):
        function(**by_tilelang, **dict([first]))


def test_loops_by_tvms_name():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=4):
            for i in T.parallel(2, 7):
                A[i] = i

    a = np.zeros(8, np.int32)
    run(kernel, a)
    assert a.tolist() == [0, 0, 2, 3, 4, 5, 6, 0]


def test_the_memory_of_a_buffer_in_another_shape():
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), "float32"), B: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=4):
            flat = T.Tensor((24,), "float32", A.data)
            for i in T.Parallel(24):
                B[i] = flat[i] * 2.0

    a, b = np.arange(24, dtype=np.float32).reshape(4, 6), np.zeros(24, np.float32)
    run(kernel, a, b)
    assert (b == 2 * a.ravel()).all()


def test_memory_under_a_second_name():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            tile = T.allocate((4,), "float32", scope="shared")
            T.copy(A, tile)
            T.device_assert(A[0] >= 0, no_stack_info=True)
            T.copy(tile, B)

    values, result = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    tilecore.compile(kernel, target="cpu")(values, result)
    assert result.tolist() == values.tolist()
    with pytest.raises(LaunchError, match="device assertion failed"):
        tilecore.compile(kernel, target="cpu")(values - 1, result)


def test_the_module_of_that_name_stays_importable():
    code = (
        "import tilecore.language as T\n"
        "import tilecore.language.allocate\n"
        "from tilecore.language.allocate import alloc_shared\n"
        "print(alloc_shared is T.alloc_shared, T.allocate is T.alloc_buffer)"
    )
    assert output_of(code).strip() == "True True"
