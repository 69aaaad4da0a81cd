"""plan_shared: shared buffers get offsets; those that are not in use at the same time share memory."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LimitError, UnsupportedError

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import code_of_threads

PASS = "plan_shared"


def plan(kernel, **capabilities):
    """(bytes that a block needs, {buffer: (offset, size)}), as ``kernel.explain()`` has them."""
    _, _, env = around_pass(kernel, PASS, **capabilities)
    (row,) = env.report["shared_memory"]
    return row["bytes"], {name: tuple(place) for name, place in row["buffers"].items()}


@T.macro
def turned(X, tile, Y, n):
    T.copy(X, tile)
    for i in T.Parallel(n):
        Y[i] = tile[n - 1 - i]


def in_order(*sizes, dtype="float32"):
    """Tiles that are filled and read one after the other."""

    @T.prim_func
    def kernel(X: T.Tensor((4096,), dtype), Y: T.Tensor((4096,), dtype)):
        with T.Kernel(1, threads=64):
            for size in sizes:
                turned(X[0:size], T.alloc_shared((size,), dtype), Y, size)

    return kernel


def test_tiles_that_live_one_after_the_other_share_memory():
    assert plan(in_order(256, 256, 128))[0] == 1024


def test_tiles_that_live_at_the_same_time_do_not():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((256,), "float32"), T.alloc_shared((256,), "float32")
            T.copy(X, a)
            T.copy(X, b)
            for i in T.Parallel(256):
                Y[i] = a[255 - i] + b[255 - i]

    assert plan(kernel) == (2048, {"a": (0, 1024), "b": (1024, 1024)})


def test_a_tile_that_a_loop_uses_lives_in_all_of_it():
    """The next iteration reads what this one leaves; but a tile that is allocated in the loop starts anew."""

    def kernel(inside):
        @T.prim_func
        def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
            with T.Kernel(1, threads=64):
                outer = T.alloc_shared((256,), "float32")
                for _ in T.serial(3):
                    a = T.alloc_shared((256,), "float32") if inside else outer
                    b = T.alloc_shared((256,), "float32")
                    turned(X, a, Y, 256)
                    turned(X, b, Y, 256)

        return kernel

    assert plan(kernel(inside=False))[0] == 2048
    assert plan(kernel(inside=True))[0] == 1024


def test_small_buffers_share_nothing():
    """To share 256 bytes would cost a barrier."""
    assert plan(in_order(64, 64))[0] == 512
    assert plan(in_order(65, 65))[0] == 260


def test_offsets_are_multiples_of_128_bytes():
    @T.prim_func
    def kernel(X: T.Tensor((33,), "float32"), Y: T.Tensor((33,), "float32")):
        with T.Kernel(1, threads=64):
            tiles = [T.alloc_shared((33,), "float32") for _ in range(3)]
            for tile in tiles:
                T.copy(X, tile)
            for i in T.Parallel(33):
                Y[i] = tiles[0][32 - i] + tiles[1][32 - i] + tiles[2][32 - i]

    total, places = plan(kernel)
    assert sorted(offset for offset, _ in places.values()) == [0, 256, 512]
    assert total == 512 + 33 * 4


def test_buffers_that_nothing_uses_go_away():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            unused = T.alloc_shared((64,), "float32")  # noqa: F841
            T.copy(X, Y)

    before, after = before_and_after(kernel, PASS)
    assert "unused = " in before
    assert "unused" not in after
    assert plan(kernel) == (0, {})


def test_names_are_unique():
    """The code generator looks offsets up by name."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for _ in (0, 1):
                tile = T.alloc_shared((64,), "float32")
                turned(X, tile, Y, 64)

    _, places = plan(kernel)
    assert len(places) == 2


def test_buffers_of_ranges_of_threads_share_nothing():
    """The ranges run beside each other."""

    @T.prim_func
    def kernel(X: T.Tensor((1024,), "float32"), Y: T.Tensor((2, 1024), "float32")):
        with T.Kernel(1, threads=128):
            with code_of_threads(0, 64):
                a = T.alloc_shared((1024,), "float32")
                T.copy(X, a)
                T.copy(a, Y[0, :])
            with code_of_threads(64, 64):
                b = T.alloc_shared((1024,), "float32")
                T.copy(X, b)
                T.copy(b, Y[1, :])

    assert plan(kernel)[0] == 2 * 4096


def test_a_view_keeps_its_buffer_alive():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((256,), "float32"), T.alloc_shared((256,), "float32")
            view = T.view(a, (16, 16))
            T.copy(X, a)
            turned(X, b, Y, 256)
            for i, j in T.Parallel(16, 16):
                Y[i * 16 + j] = view[j, i]

    assert plan(kernel)[0] == 2048


def test_code_that_threads_execute_at_different_times_is_one_statement():
    """One thread may be at its end before another begins."""

    @T.prim_func
    def kernel(F: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, b = T.alloc_shared((128,), "int32"), T.alloc_shared((128,), "int32")
            if F[tx] > 0:
                a[tx] = F[tx]
                Y[tx] = a[tx]
                b[tx] = F[tx]
                Y[tx] = b[tx]

    assert plan(kernel)[0] == 1024


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1500), st.integers(0, 3)), min_size=1, max_size=6))
def test_buffers_in_use_at_the_same_time_never_overlap(tiles):
    """Each tile is filled in order and read ``delay`` tiles later."""

    steps = tuple(range(len(tiles) + 4))  # a loop of Python over a tuple, not one of the kernel

    @T.prim_func
    def kernel(X: T.Tensor((1500,), "int32"), Y: T.Tensor((1500,), "int32")):
        with T.Kernel(1, threads=64):
            buffers = [T.alloc_shared((size,), "int32") for size, _ in tiles]
            for step in steps:
                for number, (size, delay) in enumerate(tiles):
                    if step == number:
                        T.copy(X[0:size], buffers[number])
                    if step == number + delay:
                        for i in T.Parallel(size):
                            Y[i] = buffers[number][size - 1 - i]

    _, _, env = around_pass(kernel, PASS)
    (row,) = env.report["shared_memory"]
    places = {name: (start, start + size) for name, (start, size) in row["buffers"].items()}
    order = sorted(places, key=lambda name: (len(name), name))  # that of the tiles
    assert [places[name][1] - places[name][0] for name in order] == [4 * size for size, _ in tiles]
    assert all(start % 128 == 0 for start, _ in places.values())
    for (m, first), (n, second) in combinations(enumerate(order), 2):
        (a, b), (c, d) = places[first], places[second]
        assert n >= m + max(tiles[m][1], 1) or b <= c or d <= a, (first, second, row)


# -- the limit -------------------------------------------------------------------------------------------------------


def test_too_much_shared_memory_says_what_takes_it():
    @T.prim_func
    def kernel(X: T.Tensor((256, 256), "float32"), Y: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=64):
            large = T.alloc_shared((256, 256), "float32")
            T.copy(X, large)
            T.copy(large, Y)

    with pytest.raises(UnsupportedError, match="262144 bytes of shared memory") as caught:
        after_pass(kernel, PASS)
    assert "large 262144" in str(caught.value)
    assert "at most 163840" in str(caught.value)
    assert "T.alloc_shared" in caught.value.location.excerpt()


def test_the_limit_is_that_of_the_target():
    kernel = in_order(256)
    assert plan(kernel, shared_bytes=1024)[0] == 1024
    assert plan(kernel, shared_bytes=0)[0] == 1024  # none is known
    assert "at most 1023" in str(refused(kernel, shared_bytes=1023))


def refused(kernel, **capabilities):
    with pytest.raises(LimitError) as caught:
        after_pass(kernel, PASS, **capabilities)
    return caught.value


def test_what_does_not_fit_however_small_is_not_said_to_fit():
    """Each buffer begins at an aligned place: many small ones need more than a block has."""

    @T.prim_func
    def kernel(X: T.Tensor((16,), "float32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            tiles = [T.alloc_shared((16,), "float32") for _ in range(40)]
            for tile in tiles:
                T.copy(X, tile)
            for i in T.Parallel(16):
                for tile in tiles:
                    Y[i] = tile[15 - i]

    hint = str(refused(kernel, shared_bytes=4096).hint)
    assert "fit" not in hint
    assert hint.startswith("fewer buffers: 40 of one byte each would need ")


def test_stages_are_those_of_a_loop_that_is_named_where_there_are_several():
    @T.prim_func
    def kernel(X: T.Tensor((32, 4096), "float32"), Y: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=128):
            few, many = T.alloc_shared((4096,), "float32"), T.alloc_shared((4096,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(X[k, 0], few)
                for i in T.Parallel(4096):
                    Y[i] = few[4095 - i]
                for j in T.Pipelined(4, num_stages=12):
                    T.copy(X[k * 4 + j, 0], many)
                    for i in T.Parallel(4096):
                        Y[i] = many[4095 - i]

    assert "num_stages=8 in the loop that fills many needs 163840 bytes, which fits" in str(refused(kernel).hint)


def test_fragments_that_are_kept_in_shared_memory_are_named_with_the_reason():
    @T.prim_func
    def kernel(X: T.Tensor((256, 256), "float32"), Y: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=64):
            large = T.alloc_fragment((256, 256), "float32")
            T.copy(X, large)
            for i, j in T.Parallel(256, 256):
                Y[i, j] = large[j, 255 - i]

    assert "; large is a fragment, kept in shared memory: " in str(refused(kernel).hint)
