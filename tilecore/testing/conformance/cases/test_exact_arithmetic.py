"""+, -, *, /, fma, square roots, comparisons and conversions are the same bits on every target, in the interpreter and
by numpy and fractions: products become part of a fused multiply-add by the language's one rule, and by no other."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret

from . import thread_code
from .exact_numbers import Tree, equal_bits, evaluate, expression, fma, hard, random_tree
from .kit import SEED, compiled, copies, element, has_feature, zeros

N = 320
ROUGH = ("approximate_math", "flushes_subnormals", "unfused_multiply_add")


def needs_exact(target):
    """Skips what says that it does not round as the language has it."""
    if target != thread_code.NAME:
        features = [word for word in ROUGH if has_feature(target, word)]
        if features:
            pytest.skip(f"declared: {', '.join(features)}")


def run(kernel, target, *args):
    """The last array, as the target and as the interpreter write it."""
    results, meant = copies(args), copies(args)
    compiled(kernel, target)(*results)
    interpret(kernel.ir, *meant)
    return results[-1], meant[-1]


def element_of(a, b, c, i):
    """Element ``i`` of the array of a name."""
    return lambda name: {"A": a, "B": b, "C": c}[name][i]


def in_parallel(trees, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype),
               Y: T.Tensor((len(trees), N), dtype)):  # fmt: skip
        with T.Kernel(1, threads=64):
            for i in T.Parallel(N):
                for number, tree in enumerate(trees):
                    Y[number, i] = expression(tree, element_of(A, B, C, i), dtype)

    return kernel


def one_by_one(trees, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype),
               Y: T.Tensor((len(trees), N), dtype)):  # fmt: skip
        with T.Kernel(1):
            for i in T.serial(N):
                for number, tree in enumerate(trees):
                    Y[number, i] = expression(tree, element_of(A, B, C, i), dtype)

    return kernel


def in_fragments(trees, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype),
               Y: T.Tensor((len(trees), N), dtype)):  # fmt: skip
        with T.Kernel(1, threads=64):
            a, b = T.alloc_fragment((N,), dtype), T.alloc_fragment((N,), dtype)
            c, y = T.alloc_shared((N,), dtype), T.alloc_fragment((N,), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            for number, tree in enumerate(trees):
                for i in T.Parallel(N):
                    y[i] = expression(tree, element_of(a, b, c, i), dtype)
                T.copy(y, Y[number, :])

    return kernel


def three(dtype, seed):
    """A, B, and a C that is often near -A * B."""
    a, b, c = (hard(dtype, N, 3 * seed + k) for k in range(3))
    with np.errstate(all="ignore"):
        close = np.where(np.arange(N) % 5 < 2, -(a * b), c).astype(element(dtype))
    return a, b, close


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel_of", [in_parallel, one_by_one, in_fragments])
def test_random_expressions(target, kernel_of, dtype, seed):
    needs_exact(target)
    rng = np.random.default_rng([SEED, seed, len(kernel_of.__name__), len(dtype)])
    trees = [random_tree(rng, ["A", "B", "C"], 3) for _ in range(12)]
    args = three(dtype, seed)
    leaves = dict(zip("ABC", args, strict=True))
    got, meant = run(kernel_of(trees, dtype), target, *args, zeros(dtype, (len(trees), N)))
    for number, tree in enumerate(trees):
        expected = evaluate(tree, leaves, dtype)
        equal_bits(meant[number], expected, f"the interpreter, {tree}")
        equal_bits(got[number], expected, f"{target}, {tree}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forms_of_contraction(target, dtype):
    """Each form that the rule names, and those that it does not."""
    needs_exact(target)

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype),
               Y: T.Tensor((13, N), dtype)):  # fmt: skip
        with T.Kernel(1, threads=64):
            rounded = T.alloc_fragment((N,), dtype)
            for i in T.Parallel(N):
                Y[0, i] = A[i] * B[i] + C[i]
                Y[1, i] = C[i] + A[i] * B[i]
                Y[2, i] = A[i] * B[i] - C[i]
                Y[3, i] = C[i] - A[i] * B[i]
                Y[4, i] = -(A[i] * B[i]) + C[i]
                Y[5, i] = A[i] * B[i] - B[i] * A[i]
                Y[6, i] = A[i] * B[i] + B[i] * C[i]
                product = A[i] * B[i]
                Y[7, i] = product + C[i]
                Y[8, i] = C[i]
                Y[8, i] += A[i] * B[i]
                Y[9, i] = C[i]
                Y[9, i] -= A[i] * B[i]
                Y[10, i] = T.fma(A[i], B[i], C[i])
            for i in T.Parallel(N):
                rounded[i] = A[i] * B[i]
            for i in T.Parallel(N):
                Y[11, i] = rounded[i] + C[i]
                Y[12, i] = T.ieee_add(T.ieee_mul(A[i], B[i]), C[i])

    a, b, c = three(dtype, 5)
    got, meant = run(kernel, target, a, b, c, zeros(dtype, (13, N)))
    with np.errstate(all="ignore"):
        fused, apart = fma(a, b, c), a * b + c
        expected = [fused, fused, fma(a, b, -c), fma(-a, b, c), fma(-a, b, c), a * b - b * a, a * b + b * c, apart]
        expected += [fused, fma(-a, b, c), fused, apart, apart]
    for number, right in enumerate(expected):
        equal_bits(meant[number], right, f"the interpreter, {number}")
        equal_bits(got[number], right, f"{target}, {number}")


def test_a_difference_of_equal_products_in_a_power(target):
    """A row of attention that sees no key: both scores are -1e30."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(N):
                Y[i] = T.exp2(A[i] * 0.36067376 - B[i] * 0.36067376)

    a = np.full(N, -1e30, np.float32)
    got, meant = run(kernel, target, a, a.copy(), zeros("float32", N))
    np.testing.assert_array_equal(meant, np.ones(N, np.float32))
    np.testing.assert_array_equal(got, np.ones(N, np.float32))


def test_what_infinity_nan_and_the_sign_of_zero_do(target):
    """x * 0, x + 0, 0 - x, 0 / x and x - x are computed, not taken for 0 or x."""
    needs_exact(target)

    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), Y: T.Tensor((8, N), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(N):
                Y[0, i] = A[i] * 0.0
                Y[1, i] = A[i] + 0.0
                Y[2, i] = 0.0 - A[i]
                Y[3, i] = 0.0 / A[i]
                Y[4, i] = A[i] - A[i]
                Y[5, i] = A[i] / A[i]
                Y[6, i] = T.float32(0.1) * T.float32(0.3) + A[i]
                Y[7, i] = T.float32(1e30) * T.float32(1e30) - A[i]

    a = hard("float32", N, 11)
    got, meant = run(kernel, target, a, zeros("float32", (8, N)))
    zero, tenth = np.float32(0), np.float32(0.1)
    with np.errstate(all="ignore"):
        product = np.full(N, tenth), np.full(N, np.float32(0.3))
        expected = [
            a * zero,
            a + zero,
            zero - a,
            zero / a,
            a - a,
            a / a,
            product[0] * product[1] + a,
            np.float32(np.inf) - a,
        ]
    for number, right in enumerate(expected):
        equal_bits(meant[number], right.astype(np.float32), f"the interpreter, {number}")
        equal_bits(got[number], right.astype(np.float32), f"{target}, {number}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_single_operations_of_narrow_floats(target, dtype):
    """What is stored is rounded once."""
    needs_exact(target)

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), Y: T.Tensor((5, N), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(N):
                Y[0, i] = A[i] + B[i]
                Y[1, i] = A[i] - B[i]
                Y[2, i] = A[i] * B[i]
                Y[3, i] = A[i] / B[i]
                Y[4, i] = T.sqrt(A[i])

    a, b = hard(dtype, N, 21), hard(dtype, N, 22)
    got, meant = run(kernel, target, a, b, zeros(dtype, (5, N)))
    x, y = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):  # float32 has more than twice their digits: rounding twice is as rounding once
        expected = [(x + y), (x - y), (x * y), (x / y), np.sqrt(x)]
        for number, right in enumerate(expected):
            equal_bits(meant[number], right.astype(element(dtype)), f"the interpreter, {number}")
            equal_bits(got[number], right.astype(element(dtype)), f"{target}, {number}")


@pytest.mark.parametrize(("rows", "columns", "threads"), [(16, 512, 64), (5, 33, 32)])
def test_many_numbers_divided_by_one(target, rows, columns, threads):
    """A target may use the divisor's reciprocal: in place, of expressions, and of numbers of any size."""
    needs_exact(target)

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "float32"), D: T.Tensor((rows,), "float32"),
               Y: T.Tensor((3, rows, columns), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads):
            x, z = T.alloc_fragment((rows, columns), "float32"), T.alloc_fragment((rows, columns), "float32")
            d = T.alloc_fragment((rows,), "float32")
            T.copy(X, x)
            T.copy(D, d)
            for i, j in T.Parallel(rows, columns):
                z[i, j] = (x[i, j] - 1) / d[i]
            T.copy(z, Y[0, :, :])
            for i, j in T.Parallel(rows, columns):
                z[i, j] = T.if_then_else(x[i, j] > 0, x[i, j] / d[i], x[i, j])
            T.copy(z, Y[1, :, :])
            for i, j in T.Parallel(rows, columns):
                x[i, j] /= d[i]
            T.copy(x, Y[2, :, :])

    x, d = hard("float32", rows * columns, 31).reshape(rows, columns), hard("float32", rows, 32)
    usual = np.random.default_rng(SEED).standard_normal((rows // 2, columns)).astype(np.float32)
    x[::2][: rows // 2] = usual  # of whole rows, for which a shortcut is right
    d[::4] = np.abs(d[::4]) % 1000 + 1
    got, meant = run(kernel, target, x, d, zeros("float32", (3, rows, columns)))
    with np.errstate(all="ignore"):
        expected = [(x - 1) / d[:, None], np.where(x > 0, x / d[:, None], x), x / d[:, None]]
    for number, right in enumerate(expected):
        equal_bits(meant[number], right, f"the interpreter, {number}")
        equal_bits(got[number], right, f"{target}, {number}")


@pytest.mark.parametrize("wide", ["float32", "float64"])
def test_comparisons_and_conversions(target, wide):
    needs_exact(target)
    narrow = ("float16", "bfloat16", "float32" if wide == "float64" else "float64")

    @T.prim_func
    def kernel(A: T.Tensor((N,), wide), B: T.Tensor((N,), wide), H: T.Tensor((N,), narrow[0]),
               G: T.Tensor((N,), narrow[1]), F: T.Tensor((N,), narrow[2]), Y: T.Tensor((12, N), wide)):  # fmt: skip
        with T.Kernel(1, threads=64):
            for i in T.Parallel(N):
                H[i] = A[i]
                G[i] = A[i]
                F[i] = A[i]
                Y[0, i] = T.cast(T.cast(A[i], narrow[0]), wide) * B[i] + A[i]
                Y[1, i] = T.cast(T.cast(A[i], narrow[1]), wide) + A[i]
                Y[2, i] = T.cast(T.cast(A[i], narrow[2]), wide) - A[i]
                Y[3, i] = T.cast(A[i] < B[i], wide)
                Y[4, i] = T.cast(A[i] <= B[i], wide)
                Y[5, i] = T.cast(A[i] == B[i], wide)
                Y[6, i] = T.cast(A[i] != B[i], wide)
                Y[7, i] = T.cast(A[i] > B[i], wide)
                Y[8, i] = T.cast(A[i] >= B[i], wide)
                Y[9, i] = T.cast(A[i] != A[i], wide)
                Y[10, i] = T.cast(T.cast(A[i], "int32"), wide)
                Y[11, i] = T.if_then_else(A[i] * B[i] + A[i] < 0, A[i], B[i])

    a, b = hard(wide, N, 31), hard(wide, N, 32)
    args = [a, b, *(zeros(kind, N) for kind in narrow), zeros(wide, (12, N))]
    got, meant = copies(args), copies(args)
    compiled(kernel, target)(*got)
    interpret(kernel.ir, *meant)
    kind = element(wide).type
    with np.errstate(all="ignore"):
        as_narrow = [_rounded_to(a, name) for name in narrow]
        h, g, f = (value.astype(kind) for value in as_narrow)
        tests = [a < b, a <= b, a == b, a != b, a > b, a >= b, a != a]
        whole = np.clip(np.trunc(np.nan_to_num(a.astype(np.float64), nan=0.0)), -(2.0**31), 2.0**31 - 1)
        expected = [fma(h, b, a), g + a, f - a, *(t.astype(kind) for t in tests), whole.astype(np.int32).astype(kind)]
        expected.append(np.where(fma(a, b, a) < 0, a, b))
    for who, values in (("the interpreter", meant), (target, got)):
        for number, name in enumerate(narrow):
            equal_bits(values[2 + number], as_narrow[number], f"{who}, to {name}")
        for number, right in enumerate(expected):
            equal_bits(values[-1][number], right.astype(kind), f"{who}, {number}")


def _rounded_to(values, name):
    """Rounded once: what goes through float32 to a narrower type is rounded to odd there."""
    if values.dtype == np.float64 and name == "bfloat16":
        near = values.astype(np.float32)
        inexact = (near.astype(np.float64) != values) & np.isfinite(values) & (near.view(np.uint32) & 1 == 0)
        towards = np.where(near.astype(np.float64) > values, np.float32(-np.inf), np.float32(np.inf))
        values = np.where(inexact, np.nextafter(near, towards), near)
    return values.astype(element(name))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_over_a_loop(target, dtype):
    """A sum of products that one thread makes in order: each step is one fused multiply-add."""
    needs_exact(target)

    @T.prim_func
    def kernel(A: T.Tensor((16, N), dtype), B: T.Tensor((16, N), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(1, threads=64):
            total = T.alloc_fragment((N,), dtype)
            T.clear(total)
            for k in T.serial(16):
                for i in T.Parallel(N):
                    total[i] += A[k, i] * B[k, i]
            T.copy(total, Y)

    a, b = hard(dtype, 16 * N, 41).reshape(16, N), np.ones((16, N), element(dtype))
    b[::2] = hard(dtype, 8 * N, 42).reshape(8, N)
    got, meant = run(kernel, target, a, b, zeros(dtype, N))
    expected = np.zeros(N, element(dtype))
    for k in range(16):
        expected = fma(a[k], b[k], expected)
    equal_bits(meant, expected, "the interpreter")
    equal_bits(got, expected, target)


def test_the_trees_have_what_is_to_be_tested():
    """Fused and separate products, and all operations, do come up."""
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, ["A", "B", "C"], 3) for _ in range(200)]
    seen: dict[str, int] = {}

    def walk(tree: Tree) -> None:
        seen[tree.op] = seen.get(tree.op, 0) + 1
        for part in tree.parts:
            walk(part)

    for tree in trees:
        walk(tree)
    assert min(seen.values()) > 10
    assert len(seen) == 13


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_that_are_zero(target, dtype):
    """0 and -0 compare equal, and are two constants."""
    needs_exact(target)
    zero, minus_zero = T.cast(0.0, dtype), T.cast(-0.0, dtype)

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), Y: T.Tensor((7, 64), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[0, i] = A[i] + minus_zero
                Y[1, i] = A[i] + zero
                Y[2, i] = A[i] - minus_zero
                Y[3, i] = A[i] - zero
                Y[4, i] = A[i] * A[i] - zero
                Y[5, i] = zero
                Y[6, i] = minus_zero

    a = np.resize([0.0, -0.0, 1.5, -1.5, np.inf], 64).astype(element(dtype))
    got, meant = run(kernel, target, a, zeros(dtype, (7, 64)))
    expected = [a + -0.0, a + 0.0, a - -0.0, a - 0.0, a * a - 0.0, np.zeros(64), np.full(64, -0.0)]
    for number, right in enumerate(expected):
        equal_bits(meant[number], right.astype(element(dtype)), f"the interpreter, {number}")
        equal_bits(got[number], right.astype(element(dtype)), f"{target}, {number}")
