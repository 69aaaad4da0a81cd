"""Layout objects: where the elements of a tile lie."""

from types import SimpleNamespace

import numpy as np
import pytest
from fresh_processes import imported_by

import tilecore.language as T
from tilecore import layout as L
from tilecore.errors import LanguageError


def places(layout):
    """Every element's place, as rows of indices."""
    return [tuple(layout.map_forward_index(index)) for index in np.ndindex(*layout.shape)]


def tile(rows, columns, dtype, *outer):
    return SimpleNamespace(shape=(*outer, rows, columns), dtype=T.dtype(dtype))


MAKERS = {
    L.make_full_bank_swizzled_layout: L.SwizzleMode.FULL,
    L.make_half_bank_swizzled_layout: L.SwizzleMode.HALF,
    L.make_quarter_bank_swizzled_layout: L.SwizzleMode.QUARTER,
}


@pytest.mark.parametrize("make", list(MAKERS))
@pytest.mark.parametrize(("rows", "dtype"), [(16, "float16"), (8, "float32"), (32, "int8")])
def test_swizzles_permute_chunks_within_rows(make, rows, dtype):
    mode = MAKERS[make]
    element = T.dtype(dtype).bytes
    columns = 2 * mode.value // element
    layout = make(tile(rows, columns, dtype))
    positions = places(layout)
    assert sorted(positions) == sorted(np.ndindex(rows, columns))  # a permutation
    chunk = L.CHUNK_BYTES // element
    for (i, j), (row, column) in zip(np.ndindex(rows, columns), positions, strict=True):
        assert row == i
        assert column % chunk == j % chunk
        assert column * element // mode.value == j * element // mode.value
    byte = [(row * columns * element + column * element) % mode.value for row, column in positions]
    first_chunks = {byte[i * columns] for i in range(rows)}
    assert len(first_chunks) == mode.value // L.CHUNK_BYTES  # a column of chunks is spread over all of them


@pytest.mark.parametrize("make", list(MAKERS))
def test_swizzles_are_the_exclusive_or_of_address_bits(make):
    """In a row of exactly the mode's bytes: bits 4 and up of the byte address change by bits 7 and up."""
    mode = MAKERS[make]
    layout = make(tile(64, mode.value, "uint8"))
    for i, j in np.ndindex(64, mode.value):
        address = i * mode.value + j
        changed = address ^ (((address >> 7) % (mode.value // 16)) << 4)
        assert layout.map_forward_index([i, j]) == list(divmod(changed, mode.value))


def test_the_widest_swizzle_that_fits_is_taken():
    same = lambda a, b: places(a) == places(b)  # noqa: E731
    assert same(
        L.make_swizzled_layout(tile(8, 64, "float16")), L.make_full_bank_swizzled_layout(tile(8, 64, "float16"))
    )
    assert same(
        L.make_swizzled_layout(tile(8, 32, "float16")), L.make_half_bank_swizzled_layout(tile(8, 32, "float16"))
    )
    assert same(
        L.make_swizzled_layout(tile(8, 16, "float16")), L.make_quarter_bank_swizzled_layout(tile(8, 16, "float16"))
    )
    assert same(L.make_swizzled_layout(tile(8, 10, "float16")), L.make_linear_layout((8, 10)))
    stacked = L.make_swizzled_layout(tile(8, 64, "float16", 3))
    assert stacked.map_forward_index([2, 1, 0]) == [2, 1, 8]


def test_linear_layouts_count_row_by_row():
    assert [p[0] for p in places(L.make_linear_layout((2, 3, 4)))] == list(range(24))


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(LanguageError, match="rows of 20 bytes"):
        L.make_half_bank_swizzled_layout(tile(8, 10, "float16"))
    with pytest.raises(LanguageError, match="takes a buffer"):
        L.make_swizzled_layout(3)


def test_modes():
    assert [m.swizzle_byte_size() for m in L.SwizzleMode] == [16, 32, 64, 128]
    assert L.SwizzleMode.FULL.is_swizzle_128b()
    assert L.SwizzleMode.HALF.is_swizzle_64b()
    assert L.SwizzleMode.QUARTER.is_swizzle_32b()
    assert L.SwizzleMode.NONE.is_none()


def test_layouts_are_accepted_by_kernels():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1):
            s, f = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float16")
            layout = L.make_swizzled_layout(s)
            T.annotate_layout({s: layout, f: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
            T.copy(A, s)
            for i, j in T.Parallel(64, 64):
                row, column = layout.map_forward_index([i, j])
                B[row, column] = s[i, j]

    assert "tile.copy" in str(kernel.script())


def test_layouts_need_no_tvm():
    assert imported_by("import tilecore.layout") == []


def placed(layout):
    return layout._places()


def test_repeated_and_replicated_fragments():
    base = T.Fragment((4, 4), lambda i, j: (i * 2 + j // 2, j % 2))
    assert base.get_thread_size() == 8
    repeated = base.repeat((2, 3))
    assert repeated.shape == (8, 12)
    assert all(
        place == (i % 4 * 2 + j % 4 // 2, i // 4 * 6 + j // 4 * 2 + j % 2) for (i, j), place in placed(repeated).items()
    )
    first_axis = base.repeat((2, 2), lower_dim_first=False)
    assert placed(first_axis)[4, 0] == (0, 2)
    assert placed(first_axis)[0, 4] == (0, 4)
    threads = base.repeat((2, 3), repeat_on_thread=True)
    assert all(
        place == (i // 4 * 24 + j // 4 * 8 + i % 4 * 2 + j % 4 // 2, j % 2) for (i, j), place in placed(threads).items()
    )
    copies = base.replicate(2)
    assert copies.replicate == 2
    assert all(place == (copy * 8 + i * 2 + j // 2, j % 2) for (i, j, copy), place in placed(copies).items())
    more = copies.replicate(3)
    assert more.get_thread_size() == 48
    assert all(place == (copy * 8 + i * 2 + j // 2, j % 2) for (i, j, copy), place in placed(more).items())


def test_equal_layouts():
    layout = T.Layout((4, 8), lambda i, j: i * 8 + j)
    assert layout.is_equal(T.Layout((4, 8), lambda a, b: b + a * 8))
    assert not layout.is_equal(T.Layout((4, 8), lambda i, j: j * 4 + i))
    assert not layout.is_equal(T.Layout((8, 4), lambda i, j: i * 4 + j))
    fragment = T.Fragment((4, 8), lambda i, j: (i * 8 + j, 0))
    assert fragment.is_equal(
        T.Fragment((4, 8), forward_thread_fn=lambda i, j: i * 8 + j, forward_index_fn=lambda i, j: 0)
    )
    assert not fragment.is_equal(T.Fragment((4, 8), lambda i, j: (i * 8 + j, 0)).replicate(2))
    assert not fragment.is_equal(layout)


def test_shapes_of_layouts():
    turned = T.Layout((4, 8), lambda i, j: [j, i])
    assert turned.get_input_shape() == [4, 8]
    assert turned.get_output_shape() == [8, 4]
    assert turned(1, 2) == [2, 1]
    repeated = turned.repeat(0, 3)
    assert repeated.get_input_shape() == [12, 8]
    assert repeated(9, 2) == [2, 2, 1]


def test_fragments_of_tiles():
    from tilecore import layout

    plain, turned = layout.make_gemm_fragment_8x8(), layout.make_gemm_fragment_8x8_transposed()
    assert all(place == (i * 4 + j // 2, j % 2) for (i, j), place in placed(plain).items())
    assert all(placed(turned)[j, i] == place for (i, j), place in placed(plain).items())
    whole = layout.make_fully_replicated_layout_fragment((2, 3), 32)
    assert all(place == (copy, i * 3 + j) for (i, j, copy), place in placed(whole).items())
    rows = layout.make_quarter_bank_swizzled_layout(8, 16, 16)
    tile = type("Tile", (), {"shape": (8, 16), "dtype": "float16"})
    assert rows.is_equal(layout.make_quarter_bank_swizzled_layout(tile))
    assert rows(0, 0) == [0, 0]
    assert rows(4, 0) == [4, 8]
