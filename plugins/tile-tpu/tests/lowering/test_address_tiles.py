"""address_tiles: the remaining loads and stores of tiles become accesses of local memory, at a lane and an offset."""

from __future__ import annotations

import pytest
from by_hand import environment
from one_pass import around_pass
from tile_tpu.lowering.passes.address_tiles import ADDRESS_TILES
from tile_tpu.lowering.state import TileLayouts

import tilecore.language as T
from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, PrimFunc, tirx
from tilecore.testing.kernel_text import lines, text

PASS = "address_tiles"


def after_pass(func):
    """The statements after the pass; without the allocations of local memory."""
    _, after, _ = around_pass(func, PASS)
    return "\n".join(line for line in text(after).splitlines() if "= T.alloc_buffer(" not in line)


def stores(use, shape, dtype="float32", vector=200):
    """``use(X, a, v, n)`` of a tensor, a tile and a vector."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), dtype), n: T.int32):
        with T.Kernel(1):
            a = T.alloc_shared(shape, dtype)
            v = T.alloc_shared((vector,), dtype)
            use(X, a, v, n)

    return kernel


# -- where elements are -------------------------------------------------------------------------------------------


@T.macro
def one_element(X, a, v, n):
    a[70, 3] = a[1, 2] + X[0]


@T.macro
def element_of_a_stack(X, a, v, n):
    a[1, 2, 3] = X[0]


@T.macro
def unknown_row(X, a, v, n):
    a[n, n] = X[0]


@T.macro
def of_a_vector(X, a, v, n):
    v[7] = v[n]


@T.macro
def nested(X, a, v, n):
    for i in T.serial(4):
        a[i, T.cast(a[0, i], "int32")] = 1.0


@pytest.mark.parametrize(
    ("use", "shape", "options", "code"),
    [
        (one_element, (128, 8), {}, "T.tpu.set_element(a, 6, 19, T.tpu.element(a, 1, 2) + X[0])"),
        (element_of_a_stack, (2, 4, 8), {}, "T.tpu.set_element(a, 2, 19, X[0])"),
        (unknown_row, (128, 8), {}, "T.tpu.set_element(a, n % 64, n // 64 * 16 + n, X[0])"),
        (of_a_vector, (1, 1), {"vector": 64}, "T.tpu.set_element(v, 7, 0, T.tpu.element(v, n % 64, n // 64 * 16))"),
        (of_a_vector, (1, 1), {}, "T.tpu.set_element(v, 1, 3, T.tpu.element(v, n // 4, n % 4))"),
        (of_a_vector, (1, 1), {"dtype": "bfloat16"}, "T.tpu.set_element(v, 1, 3, T.tpu.element(v, n // 4, n % 4))"),
    ],
)
def test_an_element_is_at_a_lane_and_an_offset(use, shape, options, code):
    assert after_pass(stores(use, shape, **options)) == code


def test_an_index_may_be_read_from_a_tile():
    assert after_pass(stores(nested, (4, 8))) == lines(
        """
        for i in T.serial(4, annotations={"tile.loop": "serial"}):
            T.tpu.set_element(a, i % 64, i // 64 * 16 + T.Cast("int32", T.tpu.element(a, 0, i)), T.float32(1.0))
        """
    )


def test_loads_in_conditions_and_tensors():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 8), "int32")
            if a[0, 1] > 2:
                X[0] = a[1, 1]
            while a[0, 2] < 2:
                a[0, 2] = a[0, 2] + 1

    assert after_pass(kernel) == lines(
        """
        if T.tpu.element(a, 0, 1) > 2:
            X[0] = T.tpu.element(a, 1, 1)
        while T.tpu.element(a, 0, 2) < 2:
            T.tpu.set_element(a, 0, 2, T.tpu.element(a, 0, 2) + 1)
        """
    )


def test_the_tile_itself_is_no_memory_any_more():
    before, after, _ = around_pass(stores(one_element, (128, 8)), PASS)
    assert text(before).count("= T.alloc_buffer(") == 4
    assert [line for line in text(after).splitlines() if "alloc" in line] == [
        'a = T.alloc_buffer((32,), scope="tpu.local", layout=None)',
        'v = T.alloc_buffer((16,), scope="tpu.local", layout=None)',
    ]


def test_other_memory_stays_as_it_is():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_local((8,), "float32")
            n = T.alloc_var("int32", init=1)
            a[n] = X[n]
            X[0] = a[n]

    before, after, _ = around_pass(kernel, PASS)
    assert text(before) == text(after)


# -- types --------------------------------------------------------------------------------------------------------


def test_a_bool_is_a_byte():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 8), "bool")
            a[0, 1] = X[0] > 3
            if a[0, 2]:
                X[1] = 2

    assert after_pass(kernel) == lines(
        """
        T.tpu.set_element(a, 0, 1, T.Cast("uint8", X[0] > 3))
        if T.Cast("bool", T.tpu.element(a, 0, 2)):
            X[1] = 2
        """
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "int64", "float8_e4m3fn"])
def test_other_types_are_taken_as_they_are(dtype):
    """Also elements of four bits: each takes a byte of local memory."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 8), dtype)
            a[0, 1] = a[0, 2]
            X[0] = T.cast(a[0, 3], "float32")

    assert after_pass(kernel) == lines(
        """
        T.tpu.set_element(a, 0, 1, T.tpu.element(a, 0, 2))
        X[0] = T.Cast("float32", T.tpu.element(a, 0, 3))
        """
    )


# -- what every lane has a copy of --------------------------------------------------------------------------------


def replicated(use):
    """``use(X, v, w, n)``: ``v`` is replicated in every lane, ``w`` has one element in each lane."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 16), "int32"), n: T.int32):
        with T.Kernel(1):
            v = T.alloc_shared((16,), "int32")
            w = T.alloc_shared((8,), "int32")
            t = T.alloc_shared((8, 16), "int32")
            use(X, v, w, n)
            for i, j in T.Parallel(8, 16):
                t[i, j] = v[j] + w[i]

    return kernel


@T.macro
def stored(X, v, w, n):
    v[3] = X[0, 0] + v[4]


@T.macro
def stored_at_what_is_read(X, v, w, n):
    v[v[6]] = 8


@T.macro
def stored_at_a_sum(X, v, w, n):
    v[n + 1] = w[n]


@T.macro
def stored_to_lanes(X, v, w, n):
    w[3] = v[3]


@T.macro
def added(X, v, w, n):
    T.atomic_add(v[3], 2)


@T.macro
def added_with_result(X, v, w, n):
    X[0, 0] = T.atomic_add(v[n], 2, return_prev=True)


@T.macro
def added_at_what_is_read(X, v, w, n):
    T.atomic_add(v[v[0]], 2)


@T.macro
def added_to_lanes(X, v, w, n):
    w[5] = T.atomic_add(w[3], 2, return_prev=True)


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (
            stored,
            """
            value: T.let[T.int32] = X[0, 0] + T.tpu.element(v, 0, 4)
            for lane in range(64):
                T.tpu.set_element(v, lane, 3, value)
            """,
        ),
        (
            stored_at_a_sum,
            """
            value: T.let[T.int32] = T.tpu.element(w, n % 64, n // 64 * 16)
            for lane in range(64):
                T.tpu.set_element(v, lane, n + 1, value)
            """,
        ),
        (
            stored_at_what_is_read,  # which the first lane's store may change
            """
            value: T.let[T.int32] = 8
            offset: T.let[T.int32] = T.tpu.element(v, 0, 6)
            for lane in range(64):
                T.tpu.set_element(v, lane, offset, value)
            """,
        ),
        (stored_to_lanes, "T.tpu.set_element(w, 3, 0, T.tpu.element(v, 0, 3))"),
        (
            added,
            """
            T.tile.atomic_element(T.tpu.element(v, 0, 3), 2, "add", "relaxed")
            value: T.let[T.int32] = T.tpu.element(v, 0, 3)
            for lane in range(64):
                T.tpu.set_element(v, lane, 3, value)
            """,
        ),
        (
            added_with_result,
            """
            previous: T.let[T.int32] = T.tile.atomic_element(T.tpu.element(v, 0, n), 2, "add", "relaxed")
            value: T.let[T.int32] = T.tpu.element(v, 0, n)
            for lane in range(64):
                T.tpu.set_element(v, lane, n, value)
            X[0, 0] = previous
            """,
        ),
        (
            added_at_what_is_read,
            """
            v_value: T.let[T.int32] = T.tpu.element(v, 0, 0)
            T.tile.atomic_element(T.tpu.element(v, 0, v_value), 2, "add", "relaxed")
            value: T.let[T.int32] = T.tpu.element(v, 0, v_value)
            for lane in range(64):
                T.tpu.set_element(v, lane, v_value, value)
            """,
        ),
        (
            added_to_lanes,
            """
            previous: T.let[T.int32] = T.tile.atomic_element(T.tpu.element(w, 3, 0), 2, "add", "relaxed")
            T.tpu.set_element(w, 5, 0, previous)
            """,
        ),
    ],
)
def test_stores_and_atomics_reach_every_copy(use, code):
    statements = after_pass(replicated(use))
    assert statements[: statements.index("T.tpu.add(")].strip() == lines(code)


def test_copies_are_in_all_lanes_of_the_chip():
    _, after, _ = around_pass(replicated(added), PASS, "tpu -chip=bm1688")
    assert "for lane in range(32):" in text(after)


# -- views --------------------------------------------------------------------------------------------------------


def test_views_are_other_names_of_the_local_memory():
    """Row-major in lane 0, also for views of views."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float32")
            b = T.view(a, (64,), "int32")
            c = T.view(b, (8, 16), "int16")
            a[1, 2] = X[0]
            b[3] = b[4] + 1
            c[n, 3] = c[1, 1]

    assert after_pass(kernel) == lines(
        """
        b = a.view("int32")
        c = b.view("int16")
        T.tpu.set_element(a, 0, 10, X[0])
        T.tpu.set_element(b, 0, 3, T.tpu.element(b, 0, 4) + 1)
        T.tpu.set_element(c, 0, n * 16 + 3, T.tpu.element(c, 0, 17))
        """
    )


def test_views_of_tensors_stay_as_they_are():
    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            b = T.view(X, (64,), "int32")
            b[3] = b[4] + 1

    before, after, _ = around_pass(kernel, PASS)
    assert "b[3] = b[4] + 1" in text(before)
    assert text(before) == text(after)


def test_the_address_of_an_element():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float32")
            T.evaluate(T.call_extern("handle", "f", T.address_of(a[1, 2])))

    assert after_pass(kernel) == 'T.call_extern("void", "f", T.tile.address(T.tpu.element(a, 0, 10), "rw"))'


# -- tiles that passes after assign_layouts have made ---------------------------------------------------------------


def tile(name, *shape, dtype="float32"):
    return tirx.decl_buffer(list(shape), dtype, name, scope="shared", layout=None)


def set_to(buffer, *indices):
    return store(buffer, const(1.0, "float32"), [const(i, "int32") for i in indices])


def addressed(*body, layouts=True):
    env = environment()
    if layouts:
        env.publish(TileLayouts())
    return text(ADDRESS_TILES.run(PrimFunc([], seq(list(body))).with_attr("global_symbol", "made"), env))


@pytest.mark.parametrize("layouts", [True, False])
def test_a_tile_without_a_layout_gets_one(layouts):
    a, v = tile("a", 128, 8), tile("v", 100)
    assert addressed(AllocBuffer(a), AllocBuffer(v), set_to(a, 65, 1), set_to(v, 65), layouts=layouts) == lines(
        """
        a = T.alloc_buffer((32,), scope="tpu.local", layout=None)
        v = T.alloc_buffer((32,), scope="tpu.local", layout=None)
        T.tpu.set_element(a, 1, 17, T.float32(1.0))
        T.tpu.set_element(v, 1, 16, T.float32(1.0))
        """
    )


def test_a_new_tile_with_a_view_lies_in_one_lane():
    a, b = tile("a", 4, 4), tile("b", 16)
    view = DeclBuffer(b, data=tirx.buffer_data(a))
    move = store(b, load(b, [const(5, "int32")]), [const(3, "int32")])
    assert addressed(AllocBuffer(a), view, set_to(a, 1, 2), move) == lines(
        """
        a = T.alloc_buffer((16,), scope="tpu.local", layout=None)
        b = T.decl_buffer((16,), data=a.data, scope="tpu.local", layout=None)
        T.tpu.set_element(a, 0, 6, T.float32(1.0))
        T.tpu.set_element(b, 0, 3, T.tpu.element(b, 0, 5))
        """
    )
