"""Kernels that `tilecore fuzz` cut down: numbers that are cast, cut off, rounded or chosen, and their places."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, element, same, sample, wide, zeros


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn"])
@pytest.mark.parametrize("columns", [1, 3, 4])
def test_half_a_byte_made_of_itself(target, dtype, columns):
    """Each element is read before its half of the byte is cleared; the other half is another block's."""
    n = 12

    @T.prim_func
    def kernel(X: T.Tensor((3, n), dtype), S: T.Tensor((3, n), dtype)):
        with T.Kernel(n // columns, 3, threads=32) as (bx, by):
            for j in T.Parallel(columns):
                X[by, bx * columns + j] = T.max(X[by, bx * columns + j], S[by, bx * columns + j])

    packed = np.random.default_rng(3).integers(0, 256, (2, 3, n // 2), np.uint8)
    packed = packed.view("int8" if dtype == "int4" else "uint8")
    check(kernel, target, packed[0], packed[1])


@pytest.mark.parametrize("form", ["loop", "vectors", "reduce", "clamp"])
@pytest.mark.parametrize("dtype", ["float8_e5m2", "float16", "bfloat16", "float32", "float64"])
def test_extremes_of_infinities_and_every_nan(target, dtype, form):
    """Signalling NaN are passed over as others are. An infinity of 8 bits may have become the largest number."""
    kind = element(dtype)

    def alike(got, expected, label):
        most = 57344 if dtype == "float8_e5m2" else np.inf
        same(*(np.clip(wide(array), -most, most) for array in (got, expected)), label)

    quiet = np.array([np.nan], kind).view(f"uint{8 * kind.itemsize}")
    few = [np.inf, -np.inf, 0, 1.5, -2, np.nan]
    x = np.array(few * 7, kind)
    x[5::12] = (quiet & ~(np.array([np.inf], kind).view(quiet.dtype) ^ quiet) | 1).view(kind)  # signalling
    y = np.repeat(np.array([*few, 1], kind), 6)
    n = len(x)

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype), A: T.Tensor((2, n), dtype)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((n, 2), dtype)
            least, most = T.alloc_fragment((n,), dtype), T.alloc_fragment((n,), dtype)
            for i in T.Parallel(n):
                tile[i, 0] = X[i]
                tile[i, 1] = Y[i]
            if form == "reduce":
                T.reduce_min(tile, least)
                T.reduce_max(tile, most)
                T.copy(least, A[0, 0])
                T.copy(most, A[1, 0])
            else:
                for i in T.serial(n) if form == "loop" else T.Parallel(n):
                    if form == "clamp":
                        A[0, i] = T.clamp(X[i], -1, Y[i])
                        A[1, i] = T.clamp(1, Y[i], X[i])
                    else:
                        A[0, i] = T.min(X[i], Y[i])
                        A[1, i] = T.max(X[i], Y[i])

    check(kernel, target, x, y, zeros(dtype, (2, n)), compare=alike)


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "float16"])
def test_a_choice_moves_what_is_stored(target, dtype):
    """Between an infinity that is read and a number that is computed."""
    n = 24

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype), Z: T.Tensor((2, n), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                Z[0, i] = T.if_then_else(Y[i] > 0, X[i], X[i] + Y[i])
                Z[1, i] = T.Select(Y[i] > 0, Y[i] * Y[i], X[i])

    x = np.array([np.inf, -np.inf, np.nan, 3] * 6, np.float32).astype(element(dtype))
    y = np.repeat(np.array([1, -1, 0, 30, -30, 0.5], np.float32), 4).astype(element(dtype))
    check(kernel, target, x, y, zeros(dtype, (2, n)))


@pytest.mark.parametrize(("wide", "narrow"), [("int64", "int32"), ("uint64", "int32"), ("int64", "uint16"),
                                              ("float32", "bfloat16"), ("int32", "int8")])  # fmt: skip
@pytest.mark.parametrize("n", [1, 3, 5, 9, 17, 33])
def test_a_tail_of_one_element_cut_to_fewer_bits(target, wide, narrow, n):
    """What stands behind it stays."""

    @T.prim_func
    def kernel(X: T.Tensor((4, n), wide), Y: T.Tensor((4, n + 4), narrow)):
        with T.Kernel(4, threads=32) as bx:
            tile = T.alloc_shared((1, n), wide)
            T.copy(X[bx, 0], tile)
            T.copy(tile, Y[bx : bx + 1, 0:n])

    check(kernel, target, sample(wide, (4, n)), sample(narrow, (4, n + 4), 1))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("lanes", [3, 5, 12, 33, 100])
def test_variables_of_vectors_of_any_length(target, dtype, lanes):
    @T.prim_func
    def kernel(X: T.Tensor((3, lanes), dtype), Y: T.Tensor((3, lanes), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(3):
                for j in T.vectorized(lanes):
                    variable = T.alloc_var(dtype, init=1)
                    variable = variable + X[i, j]
                    Y[i, j] = variable * 2

    check(kernel, target, sample(dtype, (3, lanes)), zeros(dtype, (3, lanes)))


WRAPS = [("uint32", "int32"), ("uint8", "int8"), ("int32", "int16"), ("int32", "uint8"), ("uint64", "int64")]


@pytest.mark.parametrize(("source", "dtype"), [*WRAPS, ("int64", "int32")])
@pytest.mark.parametrize("form", ["parallel", "serial", "atomic"])
def test_places_found_by_casts_that_wrap(target, source, dtype, form):
    """A number that was positive may be negative after a cast, and a multiple of three none."""
    n, places = 40, 5
    nest = T.serial if form == "serial" else T.Parallel

    @T.prim_func
    def kernel(X: T.Tensor((n,), source), Y: T.Tensor((2, n), "int32"), H: T.Tensor((3, places), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((n,), source)
            T.copy(X, tile)
            for i in nest(n):
                seen = T.cast(tile[i], dtype)
                if form == "atomic":
                    T.atomic_add(H[0, T.cast(T.abs(T.cast(seen, "int64")) % places, "int32")], 1)
                    T.atomic_add(H[1, T.cast(T.cast(i * 3, dtype), "int32") % 3], i)
                    T.atomic_add(H[2, T.if_then_else(T.cast(tile[i], dtype) >= 0, 0, 1)], i)
                else:
                    Y[0, i] = H[0, T.if_then_else(seen < 0, 0, 1 + T.cast(seen % 3, "int32"))]
                    Y[1, i] = H[T.cast(T.cast(i * 99, dtype), "int32") % 3, 1]

    bits = sample("int64", n, 5) * 0x0123456789AB
    x = bits.view("uint8")[:n].view(source) if source == "uint8" else bits.astype(source)
    check(kernel, target, x, zeros("int32", (2, n)), sample("int32", (3, places), 2))


@pytest.mark.parametrize("also", [False, True])
def test_a_reducer_that_nothing_is_joined_to(target, also):
    """Such an update is folded to a store of the element itself; others of the same nest count."""

    @T.prim_func
    def kernel(X: T.Tensor((5, 12), "int32"), Y: T.Tensor((2, 5), "int32")):
        with T.Kernel(1, threads=64):
            none, some = T.alloc_reducer((5,), "int32"), T.alloc_reducer((5,), "int32")
            T.reducer_init(none, 3)
            T.reducer_init(some)
            for i, j in T.Parallel(5, 12):
                none[i] += T.cast(4, "int32") // 16
                if also:
                    some[i] += X[i, j]
            T.finalize_reducer(none)
            T.finalize_reducer(some)
            T.copy(none, Y[0, 0])
            T.copy(some, Y[1, 0])

    check(kernel, target, sample("int32", (5, 12)), zeros("int32", (2, 5)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("sign", [1, -1])
def test_constants_beyond_a_type_become_what_values_do(target, dtype, sign):
    numbers = [1e300, 3.4e38, 65519.0, 65520.0, 57345.0, 464.0, 449.0, float("inf")]

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float64"), Y: T.Tensor((2, 8), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                Y[0, i] = T.cast(X[i], dtype)
            for place in [0, 1, 2, 3, 4, 5, 6, 7]:
                Y[1, place] = T.cast(T.cast(sign * numbers[place], "float64"), dtype)

    results = check(kernel, target, sign * np.array(numbers), zeros(dtype, (2, 8)))
    np.testing.assert_array_equal(*results[1].astype(np.float64))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_what_has_no_sign_is_never_below_0(target, dtype):
    """TVM's analyzer ends the process over such a comparison within a condition."""

    @T.prim_func
    def kernel(X: T.Tensor((9,), dtype), n: T.int32, Y: T.Tensor((4, 9), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(9):
                if n > 2:
                    Y[0, i] = T.min(n, T.if_then_else(X[i] < T.cast(0, dtype), T.cast(X[i] // 2, "int32"), 5))
                Y[1, i] = T.if_then_else(T.cast(0, dtype) <= X[i], 1, 2)
                Y[2, i] = T.if_then_else(T.cast(0, dtype) > X[i], 1, 2)
                Y[3, i] = T.if_then_else(X[i] >= T.cast(0, dtype), 1, 2)

    *_, y = check(kernel, target, sample(dtype, 9), 3, zeros("int32", (4, 9)))
    assert y.tolist() == [[3] * 9, [1] * 9, [2] * 9, [1] * 9]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("rows", [2, 4, 8])
def test_turned_tiles_of_few_columns(target, rows, columns, dtype):
    """Fewer columns than rows that a layout keeps side by side."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((columns, rows), dtype)):
        with T.Kernel(1, threads=32):
            tile, turned = T.alloc_shared((rows, columns), dtype), T.alloc_shared((columns, rows), dtype)
            other = T.alloc_shared((rows,), dtype)
            T.copy(X, tile)
            T.transpose(tile, turned)
            for i in T.Parallel(rows):
                other[i] = 1
            T.copy(turned, Y)

    check(kernel, target, sample(dtype, (rows, columns)), zeros(dtype, (columns, rows)))


@pytest.mark.parametrize("source", ["int64", "uint64", "uint32", "int16"])
@pytest.mark.parametrize("dtype", ["uint4", "int4"])
def test_four_bits_of_wider_numbers_beside_others(target, dtype, source):
    """Both operands have 4 bits, whatever they come from."""

    @T.prim_func
    def kernel(X: T.Tensor((16,), source), Y: T.Tensor((2, 16), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                Y[0, i] = T.cast(T.max(T.cast(i, dtype), T.cast(X[i], dtype)), "int32")
                Y[1, i] = T.cast(T.min(T.cast(X[i], dtype), T.cast(i * 3, dtype)), "int32")

    check(kernel, target, sample(source, 16), zeros("int32", (2, 16)))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16"])
def test_products_that_wrap_before_they_are_divided(target, dtype):
    """TVM's analyzer shortens ``x * 5 // 100``, as if no product wrapped."""

    @T.prim_func
    def kernel(X: T.Tensor((96,), dtype), Y: T.Tensor((5, 96), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(96):
                x = T.cast(X[i], "int32")
                Y[0, i] = (x * 5) // 100
                Y[1, i] = (x + x) // 2
                Y[2, i] = (x * 6) % 4
                Y[3, i] = T.truncmod(x + x, 8)
                Y[4, i] = T.truncdiv(x * 4, 8)

    check(kernel, target, sample(dtype, 96), zeros("int32", (5, 96)))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["int32", "int16", "uint32", "float32"])
def test_the_extreme_of_three_of_which_one_is_negated(target, dtype, name):
    """ptxas 13.0 forgets the sign where it makes one instruction of both; each has a kernel of its own, as a negation
    that is used twice is computed apart."""
    extreme = getattr(T, name)

    @T.prim_func
    def kernel(X: T.Tensor((3, 32), dtype), n: T.int32, Y: T.Tensor((6, 32), dtype)):
        with T.Kernel(6, threads=32) as form:
            for i in T.Parallel(32):
                x, y, z = X[0, i], X[1, i], X[2, i]
                if form == 0:
                    Y[form, i] = extreme(x, extreme(y, T.cast(-n, dtype)))
                elif form == 1:
                    Y[form, i] = extreme(x, extreme(y, -z))
                elif form == 2:
                    Y[form, i] = extreme(x, extreme(-y, z))
                elif form == 3:
                    Y[form, i] = extreme(-x, extreme(y, z))
                elif form == 4:
                    Y[form, i] = extreme(extreme(x, T.cast(n // -1, dtype)), z)
                else:
                    Y[form, i] = extreme(extreme(x, 0 - y), -z)

    x = sample(dtype, (3, 32))
    check(kernel, target, x, 5, zeros(dtype, (6, 32)))
    check(kernel, target, x, -7, zeros(dtype, (6, 32)))
