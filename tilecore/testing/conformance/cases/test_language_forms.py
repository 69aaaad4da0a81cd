"""Forms of the language that stand for others: TVM's script, operations that round by themselves, im2col."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import UnsupportedError

from .kit import check, compiled, has_feature, sample, zeros


def test_script_forms(target):
    @T.macro
    def halve(x: T.Ref, s: T.SharedBuffer((8,), "int32")):
        s[0] = x
        x = x // 2

    @T.prim_func
    def kernel(A: T.Tensor((8, 6), T.int32), B: T.Tensor((8, 6), "int32"), C: T.Tensor((3,), "int32")):
        T.func_attr({"tirx.noalias": True})
        with T.Kernel(1, threads=1):
            with T.sblock("root"):
                T.reads(A[0:8, 0:6])
                T.writes(B[0:8, 0:6])
                s = T.alloc_shared((8,), T.dtypes.dtype("int32"))
                n = T.alloc_var("int32", init=50)
                steps: T.let[T.int32] = A[1, 2] * 0 + 3
                with T.While(n > steps):
                    halve(n, s)
                C[0] = n
                C[1] = s[0]
                C[2] = T.alloc_var("int32", 7)
                for i, j in T.grid(4, 6):
                    B[i, j] = A[i, j]
                for k in T.parallel(24):
                    i, j = T.index_to_coordinates(k + 24, (8, 6))
                    B[i, j] = -A[i, j]

    a = sample("int32", (8, 6))
    b, c = check(kernel, target, a, zeros("int32", (8, 6)), zeros("int32", 3))[1:]
    assert c.tolist() == [3, 6, 7]
    np.testing.assert_array_equal(b, np.concatenate([a[:4], -a[4:]]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operations_that_round_by_themselves(target, dtype):
    """Sums and products are not merged, so that results are those of numpy's operations one by one."""
    single = dtype == "float32"

    @T.prim_func
    def kernel(
        A: T.Tensor((300,), dtype), B: T.Tensor((300,), dtype), C: T.Tensor((300,), dtype), Y: T.Tensor((8, 300), dtype)
    ):
        with T.Kernel(1):
            for i in T.Parallel(300):
                a, b, c = A[i], B[i], C[i]
                Y[0, i] = T.ieee_add(a * b, c)
                Y[1, i] = T.ieee_mul(a, b, "rn") - c
                Y[2, i] = T.ieee_sub(T.ieee_mul(a, b), T.ieee_mul(b, c))
                Y[3, i] = T.ieee_fdiv(a, b)
                Y[4, i] = T.ieee_frcp(a) + 1
                Y[5, i] = T.ieee_fsqrt(T.abs(a))
                Y[6, i] = T.ieee_fmaf(a, b, c) if single else 0
                Y[7, i] = T.ieee_frsqrt(T.abs(a)) if single else 0

    a, b, c = (sample(dtype, 300, seed) for seed in range(3))
    y = check(kernel, target, a, b, c, zeros(dtype, (8, 300)))[3]
    unit = np.dtype(dtype).type(1)
    for row, expected in enumerate([a * b + c, a * b - c, a * b - b * c, a / b, unit / a + unit, np.sqrt(np.abs(a))]):
        np.testing.assert_array_equal(y[row], expected, err_msg=str(row))
    if single:
        wide = [x.astype(np.float64) for x in (a, b, c)]
        np.testing.assert_array_equal(y[6], (wide[0] * wide[1] + wide[2]).astype(np.float32))
        np.testing.assert_array_equal(y[7], (1 / np.sqrt(np.abs(wide[0]))).astype(np.float32))


# -- im2col --------------------------------------------------------------------------------------------------


def windows(image, kernel, stride, dilation, pad):
    """The matrix of windows, by definition."""
    n, h, w, _ = image.shape
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    oh = (h + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    ow = (w + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    rows = []
    for b, y, x in np.ndindex(n, oh, ow):
        span = slice(y * stride, y * stride + dilation * (kernel - 1) + 1, dilation)
        across = slice(x * stride, x * stride + dilation * (kernel - 1) + 1, dilation)
        rows.append(padded[b, span, across].reshape(-1))
    return np.array(rows)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "dilation", "pad"),
    [((2, 6, 7, 3), 3, 1, 1, 1), ((1, 9, 8, 4), 2, 2, 1, 0), ((2, 8, 8, 2), 3, 1, 2, 2), ((1, 5, 5, 5), 1, 1, 1, 0)],
)
def test_im2col(target, shape, kernel, stride, dilation, pad):
    image = sample("float32", shape)
    expected = windows(image, kernel, stride, dilation, pad)
    rows, columns = 16, 8
    grid = -(-expected.shape[0] // rows), -(-expected.shape[1] // columns)

    @T.prim_func
    def unfold(A: T.Tensor(shape, "float32"), Y: T.Tensor((grid[0] * rows, grid[1] * columns), "float32")):
        with T.Kernel(grid[0], grid[1]) as (bm, bk):
            tile = T.alloc_shared((2, rows, columns), "float32")
            T.im2col(A, tile[1, 0:rows, 0:columns], bm, bk, kernel, stride, dilation, pad)
            T.copy(tile[1, 0:rows, 0:columns], Y[bm * rows, bk * columns])

    y = check(unfold, target, image, zeros("float32", (grid[0] * rows, grid[1] * columns)))[1]
    np.testing.assert_array_equal(y[: expected.shape[0], : expected.shape[1]], expected)
    assert not y[expected.shape[0] :].any()
    assert not y[:, expected.shape[1] :].any()


def test_convolution_by_im2col(target):
    n, h, w, c, f, k = 1, 8, 8, 4, 16, 3

    @T.prim_func
    def conv(
        A: T.Tensor((n, h, w, c), "float16"),
        W: T.Tensor((k * k * c, f), "float16"),
        Y: T.Tensor((n * h * w, f), "float32"),
    ):
        with T.Kernel(T.ceildiv(n * h * w, 32)) as b:
            a, wt = T.alloc_shared((32, 12), "float16"), T.alloc_shared((12, f), "float16")
            acc = T.alloc_fragment((32, f), "float32")
            T.clear(acc)
            for step in T.Pipelined(k * k * c // 12, num_stages=2):
                T.c2d_im2col(A, a, b, step, k, 1, 1, 1)
                T.copy(W[step * 12, 0], wt)
                T.gemm(a, wt, acc)
            T.copy(acc, Y[b * 32, 0])

    a, weight = sample("float16", (n, h, w, c)), sample("float16", (k * k * c, f), 1)
    kernel = compiled(conv, target)
    y = zeros("float32", (n * h * w, f))
    kernel(a, weight, y)
    expected = windows(a.astype(np.float64), k, 1, 1, 1) @ weight.astype(np.float64)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


# TC_SPACES: the type of a pointer says in which memory it points
FUNCTIONS = """
#ifdef TC_SPACES
template <typename From, typename To>
TC_FN void twice(From from, To to, int n) { for (int i = 0; i < n; ++i) to[i] = 2.0f * from[i]; }
template <typename From>
TC_FN float third(From from) { return from[2]; }
#else
TC_FN void twice(const float* from, float* to, int n) { for (int i = 0; i < n; ++i) to[i] = 2.0f * from[i]; }
TC_FN float third(const float* from) { return from[2]; }
#endif
"""


def test_functions_with_pointers(target):
    """T.access_ptr and T.address_of, of global, shared and a thread's own memory; barriers stand around the calls."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 64), "float32"),
        Y: T.Tensor((4, 64), "float32"),
        Z: T.Tensor((4, 2), "float32"),
        W: T.Tensor((4, 62), "float32"),
    ):
        with T.Kernel(4, threads=64) as b:
            T.import_source(FUNCTIONS)
            s, t = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "float32")
            pair = T.alloc_local((2,), "float32")
            tx = T.get_thread_binding()
            T.copy(A[b, 0:64], s)
            T.call_extern("handle", "twice", T.access_ptr(s[63 - tx], "r"), T.access_ptr(t, "w", offset=tx), 1)
            T.copy(t, Y[b, 0:64])
            T.evaluate(T.call_extern("handle", "twice", T.address_of(A[b, 4]), T.access_ptr(pair, 2), 2))
            if tx == 0:
                Z[b, 0] = T.call_extern("float32", "third", T.access_ptr(A[b, 1:5], "r"))
                Z[b, 1] = pair[0] + pair[1]
            for i in T.Parallel(62):
                W[b, i] = T.call_extern("float32", "third", T.access_ptr(A[b, i], "r"))

    if not has_feature(target, "source"):
        with pytest.raises(UnsupportedError):
            compiled(kernel, target)
        return
    a, y, z = sample("float32", (4, 64)), zeros("float32", (4, 64)), zeros("float32", (4, 2))
    w = zeros("float32", (4, 62))
    compiled(kernel, target)(a, y, z, w)
    np.testing.assert_array_equal(y, 2 * a[:, ::-1])
    np.testing.assert_array_equal(z[:, 0], a[:, 3])
    np.testing.assert_allclose(z[:, 1], 2 * (a[:, 4] + a[:, 5]), rtol=1e-6)
    np.testing.assert_array_equal(w, a[:, 2:])


# -- what is refused -----------------------------------------------------------------------------------------


def test_functions_of_the_targets_language(target):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A[0] = T.call_extern("float32", "magic", A[1], 2)

    @T.prim_func
    def parallel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[i] = 1.0 + T.call_extern("float32", "magic", "text", A[i])

    @T.prim_func
    def statement(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.evaluate(T.call_extern("handle", "magic", A[0]))

    @T.prim_func
    def text(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.import_source("float magic(float x);")
            A[0] = 1.0

    if has_feature(target, "source"):
        pytest.skip("the target compiles text of its own language")
    for func, word in ((kernel, "magic"), (parallel, "magic"), (statement, "magic"), (text, "import_source")):
        with pytest.raises(UnsupportedError, match=r"call_extern|import_source") as caught:
            tilecore.compile(func, target=target)
        shown = str(caught.value)
        line = next(number for number, line in enumerate(shown.splitlines()) if word in line and "|" in line)
        assert "^^^" in shown.splitlines()[line + 1]
        assert caught.value.hint


def test_attributes_without_a_meaning_are_refused():
    with pytest.raises(UnsupportedError, match="pragma_unroll"):

        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                with T.attr(0, "pragma_unroll", 1):
                    A[0] = 1.0
