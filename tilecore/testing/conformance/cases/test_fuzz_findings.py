"""Kernels that `tilecore fuzz` cut down to what was wrong, each with more sizes and forms of the same."""

from __future__ import annotations

import pytest

import tilecore.language as T

from .kit import check, every_value, sample, zeros


def along_steps(kind, shape, axis, stages, place):
    """A tile that a pipelined loop loads, joined or scanned along an axis in every step."""
    left = tuple(size for number, size in enumerate(shape) if number != axis) or (1,)
    out = shape if kind == "cumsum" else left

    @T.prim_func
    def kernel(X: T.Tensor((3, *shape), "int32"), Y: T.Tensor((3, *out), "int32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared(shape, "int32")
            result = T.alloc_shared(out, "int32") if place == "shared" else T.alloc_fragment(out, "int32")
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(X[k, ...], tile)
                if kind == "cumsum":
                    T.cumsum(tile, result, dim=axis)
                else:
                    T.reduce(tile, result, kind, dim=axis)
                T.copy(result, Y[k, ...])

    return kernel, out


@pytest.mark.parametrize("stages", [0, 2, 3])
@pytest.mark.parametrize("kind", ["sum", "absmax", "cumsum"])
@pytest.mark.parametrize("place", ["shared", "fragment"])
@pytest.mark.parametrize(("shape", "axis"), [((8,), 0), ((5, 12), 0), ((16, 16), 1), ((1, 8), 0), ((2, 3, 8), 1)])
def test_along_an_axis_of_a_tile_with_stages(target, kind, shape, axis, stages, place):
    kernel, out = along_steps(kind, shape, axis, stages, place)
    check(kernel, target, sample("int32", (3, *shape)), zeros("int32", (3, *out)))


@pytest.mark.parametrize("elements", [4, 8, 20, 32])
def test_small_tiles_with_stages(target, elements):
    """A slot of a few bytes lies where no copy of a whole tile may begin."""

    @T.prim_func
    def kernel(X: T.Tensor((9, elements), "float32"), Y: T.Tensor((9, elements), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((elements,), "float32")
            for k in T.Pipelined(9, num_stages=3):
                T.copy(X[k, 0], tile)
                for i in T.Parallel(elements):
                    Y[k, i] = tile[elements - 1 - i] + k

    check(kernel, target, sample("float32", (9, elements)), zeros("float32", (9, elements)))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("m", "n", "k"), [(2, 2, 1), (1, 1, 1), (3, 5, 2), (16, 3, 16), (2, 8, 4), (9, 4, 17)])
def test_products_smaller_than_an_instruction(target, m, n, k, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((k, m), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), dtype)):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_shared((k, m), "float16"), T.alloc_shared((k, n), "float16")
            c = T.alloc_fragment((m, n), dtype)
            T.clear(c)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=True)
            for i, j in T.Parallel(m, n):
                c[i, j] = c[i, j] + i
            T.copy(c, C)

    whole = [(sample("int8", shape, seed) % 4).astype("float16") for seed, shape in enumerate(((k, m), (k, n)))]
    check(kernel, target, *whole, zeros(dtype, (m, n)))


@pytest.mark.parametrize(("rows", "threads"), [(96, 128), (72, 96), (300, 64), (130, 256)])
@pytest.mark.parametrize("form", ["reduce", "loop", "own threads"])
def test_a_tile_made_of_another_in_one_loop_is_not_in_its_place(target, rows, threads, form):
    """Threads are at different places of such a loop: the memory of what it reads is free after it only."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, 2), "int32"), Y: T.Tensor((rows,), "int32")):
        with T.Kernel(1, threads=threads):
            pairs = T.alloc_shared((rows, 2), "int32")
            sums = T.alloc_shared((rows,), "int32")
            T.copy(X, pairs)
            if form == "reduce":
                T.reduce_sum(pairs, sums)
            elif form == "loop":
                for i in T.Parallel(rows):
                    total = T.alloc_var("int32", init=0)
                    for r in T.serial(2):
                        total += pairs[i, r]
                    sums[i] = total
            else:
                T.clear(sums)
                if T.get_thread_binding() < 32:
                    other = T.alloc_var("int32", init=pairs[T.get_thread_binding(), 1])
                    sums[T.get_thread_binding()] = other
            T.copy(sums, Y)

    check(kernel, target, sample("int32", (rows, 2)), zeros("int32", (rows,)))


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (16, 1), (33, 1), (8, 4)])
def test_rows_and_columns_reduced_one_after_the_other(target, rows, columns):
    """The two loops over the rows may become one, in which the first reduction is whole."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "int32"), R: T.Tensor((rows,), "int32"), C: T.Tensor((columns,), "int32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_shared((rows, columns), "int32")
            of_rows, of_columns = T.alloc_shared((rows,), "int32"), T.alloc_shared((columns,), "int32")
            T.copy(X, x)
            T.reduce_min(x, of_rows)
            T.reduce_bitand(x, of_columns, dim=0)
            T.copy(of_rows, R)
            T.copy(of_columns, C)

    check(kernel, target, sample("int32", (rows, columns)), zeros("int32", (rows,)), zeros("int32", (columns,)))


@pytest.mark.parametrize(("shape", "other"), [((1, 1), (1,)), ((8, 16), (128,)), ((3, 5), (5, 3)), ((4,), (4, 1))])
@pytest.mark.parametrize("form", ["read", "written", "reduced"])
@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_tiles_under_another_shape(target, shape, other, form, place):
    """Registers have no shape to be seen under another one; the tile that has such a view lives elsewhere."""
    left = other[1:] or (1,)

    @T.prim_func
    def kernel(X: T.Tensor(shape, "int32"), Y: T.Tensor(other, "int32"), R: T.Tensor(left, "int32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared(shape, "int32") if place == "shared" else T.alloc_fragment(shape, "int32")
            seen = T.reshape(tile, other)
            sums = T.alloc_fragment(left, "int32")
            if form == "written":
                T.copy(T.reshape(X, other), seen)
            else:
                T.copy(X, tile)
            if form == "reduced":
                T.reduce_sum(seen, sums, dim=0)
                T.copy(sums, R)
            for i in T.Parallel(other[0]):
                if len(other) == 1:
                    seen[i] = seen[i] * 2 + i
                else:
                    for j in T.serial(other[1]):
                        seen[i, j] = seen[i, j] * 2 + i
            T.copy(seen, Y)

    check(kernel, target, sample("int32", shape), zeros("int32", other), zeros("int32", left))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float8_e4m3fn"])
@pytest.mark.parametrize(("lanes", "columns"), [(65, 1), (65, 64), (96, 95), (130, 7), (256, 255), (300, 299)])
def test_long_vectors_of_narrow_elements_with_a_tail(target, lanes, columns, dtype):
    """One vector of many lanes of which few are stored: no register has a bit for each."""

    @T.prim_func
    def kernel(X: T.Tensor((4, lanes), "int32"), Y: T.Tensor((4, columns), dtype)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, lanes), "int32")
            T.copy(X, tile)
            for i in T.Parallel(4):
                for j in T.vectorized(lanes):
                    Y[i, j] = T.clamp(T.cast(tile[i, j] % 13, dtype), -8, 8)

    check(kernel, target, sample("int32", (4, lanes)), zeros(dtype, (4, columns)))


@pytest.mark.parametrize("size", [1, 2, 33])
@pytest.mark.parametrize("jump", ["continue", "break", "while"])
def test_a_step_that_ends_early_waits_for_its_readers(target, jump, size):
    """What is behind the jump is no reason to leave a barrier out: the next step does not come from there."""

    @T.prim_func
    def kernel(X: T.Tensor((4, size), "int32"), Y: T.Tensor((2, size), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((size,), "int32")
            step = T.alloc_var("int32", init=-1)
            for k in T.serial(4 if jump != "while" else 0):
                T.copy(X[k, 0], tile)
                maxima = T.alloc_shared((size,), "int32")
                T.cummax(tile, maxima)
                if jump == "continue" and k < 3:
                    continue
                if jump == "break" and k == 2:
                    break
                T.copy(maxima, Y[0, 0])
            while step < (3 if jump == "while" else -1):
                step = step + 1
                T.copy(X[step, 0], tile)
                maxima = T.alloc_shared((size,), "int32")
                T.cummax(tile, maxima)
                if step < 3:
                    continue
                T.copy(maxima, Y[0, 0])
            if jump == "break":
                T.copy(X[0, 0], tile)
                for i in T.Parallel(size):
                    Y[1, i] = tile[size - 1 - i]

    check(kernel, target, sample("int32", (4, size)), zeros("int32", (2, size)))


@pytest.mark.parametrize(
    ("rows", "columns", "tile"), [(1, 2, (1, 1)), (1, 6, (1, 1)), (3, 10, (2, 3)), (5, 32, (8, 8))]
)
@pytest.mark.parametrize("form", ["in place", "another row", "kept"])
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_halves_of_bytes_that_are_read_and_written(target, dtype, form, rows, columns, tile):
    """Who has one half of a byte reads it while another thread, or block, writes the other."""

    @T.prim_func
    def kernel(U: T.Tensor((rows, columns), dtype)):
        with T.Kernel(T.ceildiv(columns, tile[1]), T.ceildiv(rows, tile[0]), threads=32) as (bx, by):
            registers = T.alloc_fragment(tile, dtype)
            if form == "in place":
                for i, j in T.Parallel(*tile):
                    U[by * tile[0] + i, bx * tile[1] + j] = U[by * tile[0] + i, bx * tile[1] + j] + 1
            elif form == "another row":
                for j in T.Parallel(tile[1]):
                    if by == 0:
                        U[rows - 1, bx * tile[1] + j] = U[0, bx * tile[1] + j]
            else:
                T.copy(U[by * tile[0], bx * tile[1]], registers)
                for i, j in T.Parallel(*tile):
                    registers[i, j] = registers[i, j] * 3
                T.copy(registers, U[by * tile[0], bx * tile[1]])

    check(kernel, target, sample("uint8", (rows, columns // 2)))


@pytest.mark.parametrize(
    ("source", "middle", "divisor"),
    [("int32", "int8", 128), ("uint8", "int8", 128), ("int16", "uint8", 300), ("uint32", "int32", 7)],
)
def test_remainders_of_values_that_wrapped(target, source, middle, divisor):
    """A cast to a narrower type does not keep the range of its value; sums of narrow types wrap."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), source), Y: T.Tensor((64,), "int32"), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                Y[i] = T.cast(T.cast(X[i] & T.cast(255, source), middle), "int32") % divisor
            for i in T.Parallel(64):
                Z[i] = T.abs(T.cast(T.cast(X[i], middle) + T.cast(100, middle), "int32")) % divisor

    check(kernel, target, every_value(source)[:64], zeros("int32", (64,)), zeros("int32", (64,)))
    check(kernel, target, every_value(source)[-64:], zeros("int32", (64,)), zeros("int32", (64,)))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_indices_that_are_remainders_of_halves_of_bytes(target, dtype):
    """Were they taken to be what the byte holds, an index would lie outside."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), dtype), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            counts = T.alloc_shared((8,), "int32")
            T.clear(counts)
            for i in T.Parallel(8):
                T.atomic_add(counts[X[i] % 8], i + 1)
            T.copy(counts, Y)

    check(kernel, target, sample("uint8", (4,)), zeros("int32", (8,)))


@pytest.mark.parametrize(("rows", "columns", "wide"), [(2, 24, 2), (2, 2, 6), (3, 40, 5), (16, 8, 16)])
@pytest.mark.parametrize("axis", [0, 1])
def test_results_of_a_reduction_that_loops_take_otherwise(target, axis, rows, columns, wide):
    """Where every thread has all of them, a loop that deals them out to threads would look for a register by the
    thread's number."""
    shape = (rows, columns) if axis else (columns, rows)

    @T.prim_func
    def kernel(X: T.Tensor(shape, "int32"), Y: T.Tensor((rows, wide), "int32"), Z: T.Tensor((rows, wide, 3), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared(shape, "int32")
            least = T.alloc_fragment((rows,), "int32")
            y, z = T.alloc_shared((rows, wide), "int32"), T.alloc_shared((rows, wide, 3), "int32")
            T.copy(X, tile)
            T.reduce_min(tile, least, dim=axis)
            for i, j in T.Parallel(rows, wide):
                y[i, j] = least[i] + j
            for i, j, k in T.Parallel(rows, wide, 3):
                z[i, j, k] = least[i] * 2 + j + k
            T.copy(y, Y)
            T.copy(z, Z)

    check(kernel, target, sample("int32", shape), zeros("int32", (rows, wide)), zeros("int32", (rows, wide, 3)))


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float32"])
def test_a_fragment_that_a_loop_fills_and_a_reducer_reads(target, dtype):
    @T.prim_func
    def kernel(X: T.Tensor((2, 2), "float32"), Y: T.Tensor((2,), "float32"), Z: T.Tensor((2, 24), dtype)):
        with T.Kernel(1, threads=96):
            unit, tile = T.alloc_fragment((2,), dtype), T.alloc_fragment((2, 2), "float32")
            other = T.alloc_shared((2, 24), dtype)
            sums = T.alloc_reducer((2,), "float32")
            for i in T.Parallel(2):
                unit[i] = 1
            for i, j in T.Parallel(2, 24):
                other[i, j] = unit[i]
            T.copy(X, tile)
            T.reducer_init(sums)
            for i, j in T.Parallel(2, 2):
                sums[i] += tile[i, j] * T.cast(unit[i], "float32")
            T.finalize_reducer(sums)
            T.copy(sums, Y)
            T.copy(other, Z)

    check(kernel, target, sample("float32", (2, 2)), zeros("float32", (2,)), zeros(dtype, (2, 24)))


@pytest.mark.parametrize("place", ["nest", "block"])
@pytest.mark.parametrize(("rows", "columns"), [(2, 4), (4, 8), (3, 5)])
def test_vectorized_loops_in_one_another(target, rows, columns, place):
    @T.prim_func
    def kernel(X: T.Tensor((8, rows, columns), "int32"), Y: T.Tensor((8, columns, rows), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8, rows, columns), "int32")
            T.copy(X, tile)
            if place == "nest":
                for n in T.Parallel(8):
                    for i in T.vectorized(rows):
                        for j in T.vectorized(columns):
                            Y[n, j, i] = tile[n, i, j]
            else:
                for n in T.serial(8):
                    for i in T.vectorized(rows):
                        for j in T.vectorized(columns):
                            Y[n, j, i] = tile[n, i, j]

    check(kernel, target, sample("int32", (8, rows, columns)), zeros("int32", (8, columns, rows)))


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize(("rows", "columns"), [(32, 16), (1, 8)])
def test_two_tiles_are_swapped_in_a_loop_of_each_thread(target, rows, columns, dtype):
    """A compiler gave some of these stores the distance of the two tiles twice (docs/notes/compilers.md)."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((2, rows, columns), dtype)):
        with T.Kernel(1, threads=256):
            first, second = T.alloc_shared((rows, columns), dtype), T.alloc_shared((rows, columns), dtype)
            T.copy(X, first)
            for i in T.Parallel(rows):
                for j in T.serial(columns):
                    second[i, j] = X[(i + 2) % rows, j]
                    if first[i, j] > T.cast(-6, dtype):
                        saved = second[i, j]
                        second[i, j] = first[i, j]
                        first[i, j] = saved
                    elif second[i, j] <= T.cast(1, dtype):
                        second[i, j] = T.cast(-1, dtype)
            T.copy(first, Y[0, :, :])
            T.copy(second, Y[1, :, :])

    check(kernel, target, sample(dtype, (rows, columns)) * 3, zeros(dtype, (2, rows, columns)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("m", "n", "k", "threads"), [(72, 96, 17, 96), (88, 96, 17, 96), (96, 96, 16, 96)])
def test_products_that_fill_the_registers(target, m, n, k, threads, dtype):
    """A compiler gave up the allocation of registers for the first two, and their float64 was wrong."""

    @T.prim_func
    def kernel(A: T.Tensor((m, 3 * k), dtype), B: T.Tensor((3 * k, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((m, k), dtype), T.alloc_shared((k, n), dtype)
            c = T.alloc_fragment((m, n), dtype)
            T.clear(c)
            for step in T.Pipelined(3, num_stages=2):
                T.copy(A[0, step * k], a)
                T.copy(B[step * k, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    a, b = (sample("int8", shape).astype(dtype) % 8 for shape in ((m, 3 * k), (3 * k, n)))  # sums are exact
    check(kernel, target, a, b, zeros(dtype, (m, n)))


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_barriers_behind_atomics_that_spin(target, dtype, threads):
    """A compiler took a warp for whole that its loop of compare-and-swap had split: the last threads of a row read
    `turned` before its first one had written it."""
    rows, columns = 3, 9

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), dtype),
        H: T.Tensor((1,), dtype),
        A: T.Tensor((columns, rows), dtype),
        B: T.Tensor((rows, 1), dtype),
        Y: T.Tensor((2, rows, columns), dtype),
    ):
        with T.Kernel(2, threads=threads) as bx:
            a, largest = T.alloc_shared((columns, rows), dtype), T.alloc_shared((rows,), dtype)
            b, turned = T.alloc_shared((rows, 1), dtype), T.alloc_shared((1, rows), dtype)
            y = T.alloc_shared((rows, columns), dtype)
            for i, _j in T.Parallel(rows, columns):
                T.atomic_min(H[0], X[i, 1])
            if bx == 1:
                T.copy(A, a)
                T.reduce_absmax(a, largest, dim=0)
            T.copy(B, b)
            T.transpose(b, turned)
            for i, j in T.Parallel(rows, columns):
                y[i, j] = turned[0, i]
            T.copy(y, Y[bx, 0:rows, 0:columns])

    x, a, b = (sample(dtype, shape) for shape in ((rows, columns), (columns, rows), (rows, 1)))
    for _ in range(3):  # a race is not seen at each launch
        check(kernel, target, x, zeros(dtype, 1), a, b + b.dtype.type(1), zeros(dtype, (2, rows, columns)))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("off", [1, 2, 8])
def test_tiles_whose_rows_begin_anywhere(target, off, dtype):
    """Copy engines may want to begin at multiples of 16 bytes."""

    @T.prim_func
    def kernel(A: T.Tensor((40, 80), dtype), C: T.Tensor((2, 40, 16), dtype)):
        with T.Kernel(2, threads=64) as bx:
            tile, total = T.alloc_shared((40, 16), dtype), T.alloc_fragment((40, 16), dtype)
            T.clear(total)
            for k in T.Pipelined(3, num_stages=3):
                T.copy(A[0, k * 16 + off + bx * 16], tile)
                for i, j in T.Parallel(40, 16):
                    total[i, j] = T.max(total[i, j], tile[i, j])
            T.copy(total, C[bx, :, :])

    check(kernel, target, sample(dtype, (40, 80)), zeros(dtype, (2, 40, 16)))


@pytest.mark.parametrize("kind", ["add", "max"])
@pytest.mark.parametrize(("elements", "rows"), [(1, 2), (5, 3), (16, 16)])
def test_every_row_reads_what_atomics_made_of_a_tile(target, elements, rows, kind):
    """Where every lane has a copy of the tile, an atomic reaches all of them."""
    n = 40

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), Y: T.Tensor((rows, elements), "int32")):
        with T.Kernel(1, threads=64):
            tile, out = T.alloc_shared((elements,), "int32"), T.alloc_shared((rows, elements), "int32")
            T.clear(tile)
            for i in T.Parallel(n):
                if kind == "add":
                    T.atomic_add(tile[i % elements], X[i])
                else:
                    T.atomic_max(tile[i % elements], X[i])
            for i, j in T.Parallel(rows, elements):
                out[i, j] = tile[j] + i
            T.copy(out, Y)

    check(kernel, target, sample("int32", n), zeros("int32", (rows, elements)))


@pytest.mark.parametrize("form", ["constant", "load", "last"])
@pytest.mark.parametrize("loop", [T.vectorized, T.serial])
@pytest.mark.parametrize("place", ["reducer", "shared", "fragment"])
def test_an_inner_loop_that_stores_to_one_element(target, place, loop, form):
    n, m = 3, 4

    @T.prim_func
    def kernel(X: T.Tensor((n, m), "int32"), Y: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=32):
            out = T.alloc_shared((n,), "int32")
            if place == "reducer":
                total = T.alloc_reducer((n,), "int32")
                T.reducer_init(total)
            else:
                total = T.alloc_shared((n,), "int32") if place == "shared" else T.alloc_fragment((n,), "int32")
                T.clear(total)
            for i in T.Parallel(n):
                for j in loop(m):
                    if form == "constant":
                        total[i] += 3
                    elif form == "load" or place == "reducer":
                        total[i] += X[i, j]
                    else:
                        total[i] = X[i, j]
            if place == "reducer":
                T.finalize_reducer(total, out)
            else:
                T.copy(total, out)
            T.copy(out, Y)

    check(kernel, target, sample("int32", (n, m)), zeros("int32", n))


@pytest.mark.parametrize("rows", [1, 2])
def test_barriers_behind_stores_of_half_bytes(target, rows):
    """Such stores are loops of compare-and-swap, which split a warp. A compiler's barrier let a part of it pass."""
    columns, depth, width = 4, 3, 33
    M, N = T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), "uint32"),
        H: T.Tensor((M, N), "int4"),
        Z: T.Tensor((M, N), "int4"),
        A: T.Tensor((M, depth), "int8"),
        B: T.Tensor((depth, M), "int8"),
        Y: T.Tensor((N, M), "int8"),
    ):
        with T.Kernel(T.ceildiv(M, 2), T.ceildiv(N, width), threads=128) as (bx, by):
            first = T.alloc_fragment((2, width), "uint32")
            halves = T.alloc_fragment((2, width), "int4")
            a = T.alloc_fragment((2, depth), "int8")
            passed, y = T.alloc_shared((2, depth), "int8"), T.alloc_shared((width, 2), "int8")
            count = T.alloc_var("int32", init=0)
            while count < 2:
                for _ in T.Pipelined(66, num_stages=2):
                    for i in T.Parallel(2):
                        for j in T.vectorized(width):
                            if i < 1:
                                first[i, j] = X[0, by * width + j]
                    for i in T.Parallel(2):
                        for j in T.serial(width):
                            halves[i, j] = H[bx * 2 + i, by * width + j - 1]
                T.copy(halves, Z[bx * 2, by * width])
                count += 1
            T.copy(A[bx * 2, 0], a)
            T.copy(a, passed)
            for i, j in T.Parallel(width, 2):
                total = T.alloc_var("int8", init=T.cast(0, "int8"))
                for r in T.serial(depth):
                    total += passed[j, r]
                y[i, j] = total
            for i, j in T.Parallel(depth, 2):
                if a[j, i] != passed[j, i]:
                    a[j, i] = -T.cast(4, "int8")
                else:
                    a[j, i] = ~T.clamp(T.max(B[i, bx * 2 + j], passed[j, i]), 1, 50)
            T.copy(y, Y[by * width, bx * 2])

    x, halves = sample("uint32", (rows, columns)), sample("uint8", (rows, columns // 2))
    a, b = sample("int8", (rows, depth)), sample("int8", (depth, rows))
    check(kernel, target, x, halves, zeros("uint8", (rows, columns // 2)), a, b, zeros("int8", (columns, rows)))
