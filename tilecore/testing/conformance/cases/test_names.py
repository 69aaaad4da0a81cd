"""The names that kernels use most, each in some kernel of this folder: here those that no other file has a use for.

NAMES is the language's table by use: what 740 files of TileLang's tests and examples import, three files or more each.
"""

from __future__ import annotations

import ast
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError, UnsupportedError
from tilecore.plugins import manager

from .kit import check, close, compiled, element, rerun, runs_kernels, sample, zeros

ELEMENTS = (
    "float16 bfloat16 float32 tfloat32 float64 float float8_e4m3fn float8_e5m2 float4_e2m1fn "
    "float8_e4m3fnuz float8_e5m2fnuz "
    "int4 int8 int16 int32 int64 int uint8 uint16 uint32 uint64 bool"
).split()
NAMES = (
    "Kernel Tensor copy prim_func alloc_shared alloc_fragment ceildiv Parallel Pipelined gemm clear reduce_sum "
    "if_then_else serial empty fill exp2 reduce_max const max infinity GemmWarpPolicy dynamic alloc_var min "
    "log2 get_thread_binding dtype use_swizzle annotate_layout alloc_local atomic_add cast exp floordiv "
    "reduce_absmax Layout reinterpret disable_warp_group_reg_alloc symbolic vectorized Var grid StridedTensor "
    "reduce_min macro clamp reshape evaluate unroll thread_binding im2col atomic_addx4 cumsum floormod "
    "alloc_global Buffer attr Fragment comm_reducer log rsqrt set_max_nreg tvm_thread_allreduce Ramp view "
    "alloc_reducer atomic_max finalize_reducer reduce_abssum reduce_bitand rng_init rng_rand ptr make_tensor"
).split()
ONE_CHIP = (
    "alloc_barrier tma_copy barrier_arrive barrier_wait wgmma_gemm wait_wgmma ws mbarrier_wait_parity mbarrier_arrive "
    "cp_async_barrier_noinc"
).split()


def test_every_name_is_used_by_a_kernel_of_this_folder():
    used = set(ELEMENTS)  # test_element_types
    for file in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "T":
                used.add(node.attr)
    assert not set(NAMES) - used
    assert not [name for name in NAMES + ELEMENTS if not hasattr(T, name)]


@pytest.mark.parametrize("name", ONE_CHIP)
def test_one_chips_instructions_say_what_to_write(name, monkeypatch):
    """An error with the user's line, which `hasattr` understands; the names that it names are there."""
    monkeypatch.setattr(manager, "offers", lambda: iter(()))  # no backend adds names
    assert not hasattr(T, name)
    with pytest.raises(UnsupportedError, match=rf"T.{name} is an instruction of one chip") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                getattr(T, name)(A)

    named = re.findall(r"\bT\.(\w+)", str(caught.value.hint))
    assert len(named) >= 3  # one for the instruction, and the way to a function of one's own
    assert all(hasattr(T, word) for word in named)


# -- element types -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ELEMENTS if name not in ("int4", "float4_e2m1fn")])
def test_element_types(target, name):
    """As the type of a parameter, of shared memory, of a fragment, and called to convert."""
    kind = getattr(T, name)
    shown = {"tfloat32": "float32", "float": "float32", "int": "int32"}.get(name, name)

    @T.prim_func
    def kernel(X: T.Tensor((3, 50), kind), Y: T.Tensor((3, 50), kind), Z: T.Tensor((3, 50), T.int32)):
        with T.Kernel(3, threads=32) as b:
            s, f = T.alloc_shared((50,), kind), T.alloc_fragment((50,), kind)
            T.copy(X[b, 0], s)
            T.copy(s, f)
            for i in T.Parallel(50):
                Z[b, i] = T.int32(f[i]) + 1
                f[i] = T.if_then_else(f[i] == kind(0), kind(1), f[i])
            T.copy(f, Y[b, 0])

    x = sample(shown, (3, 50))
    x[0, :3] = 0
    y = check(kernel, target, x, zeros(shown, (3, 50)), zeros("int32", (3, 50)))[1]
    np.testing.assert_array_equal(y, np.where(x == element(shown).type(0), element(shown).type(1), x))


@pytest.mark.parametrize("name", ["int4", "float4_e2m1fn"])
def test_element_types_of_half_a_byte(target, name):
    kind = getattr(T, name)

    @T.prim_func
    def kernel(X: T.Tensor((3, 32), T.float32), Y: T.Tensor((3, 32), T.float32)):
        with T.Kernel(3, threads=32) as b:
            s = T.alloc_shared((32,), kind)
            for i in T.Parallel(32):
                s[i] = T.cast(X[b, i], kind)
            for i in T.Parallel(32):
                Y[b, i] = T.cast(s[31 - i], "float32")

    x = np.resize(np.array([0, 1, 2, 3, 4, 6, -1, -2, -4], np.float32), (3, 32))
    y = check(kernel, target, x, zeros("float32", (3, 32)))[1]
    np.testing.assert_array_equal(y, x[:, ::-1])


def test_dtype_of_a_name(target):
    kind = T.dtype("float16")
    assert kind == T.float16 == "float16"

    @T.prim_func
    def kernel(X: T.Tensor((40,), kind), Y: T.Tensor((40,), T.dtype(np.float32))):
        with T.Kernel(1):
            for i in T.Parallel(40):
                Y[i] = X[i] * T.dtype("float32")(2)

    x = sample("float16", 40)
    np.testing.assert_array_equal(check(kernel, target, x, zeros("float32", 40))[1], x.astype(np.float32) * 2)


# -- integers and sizes --------------------------------------------------------------------------------------

DIVISIONS = {"floordiv": (T.floordiv, operator.floordiv), "floormod": (T.floormod, operator.mod)}


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_divisions(target, name, dtype):
    ours, numpys = DIVISIONS[name]

    @T.prim_func
    def kernel(X: T.Tensor((150,), dtype), D: T.Tensor((150,), dtype), Y: T.Tensor((2, 150), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(150):
                Y[0, i] = ours(X[i], D[i])
                Y[1, i] = ours(X[i], 7)

    x, d = sample(dtype, 150), sample(dtype, 150, 1)
    d[d == 0] = 3
    y = check(kernel, target, x, d, zeros(dtype, (2, 150)))[2]
    np.testing.assert_array_equal(y, [numpys(x, d), numpys(x, x.dtype.type(7))])


@pytest.mark.parametrize("make", [T.symbolic, T.dynamic, T.Var])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sizes_of_the_call(target, make, dtype):
    n = make("n", dtype)

    @T.prim_func
    def kernel(X: T.Tensor((n, 4), "int32"), Y: T.Buffer((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for i in T.Parallel(32):
                if b * 32 + i < n:
                    Y[b * 32 + i] = X[b * 32 + i, 1] + T.cast(n, "int32")

    for size in (1, 32, 77):
        x = sample("int32", (size, 4))
        np.testing.assert_array_equal(check(kernel, target, x, zeros("int32", size))[1], x[:, 1] + size)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_tensors_of_pointers(target, dtype):
    """Scalars of the call, sizes of the compiled kernel and strides."""

    @T.prim_func
    def kernel(a: T.ptr, b: T.ptr(dtype), c: T.ptr, m: T.int32, n: T.int32):
        A = T.make_tensor(a, (m, n), dtype)
        B = T.make_tensor(b, (8, 4), dtype, strides=(1, 8))
        C = T.make_tensor(c, (m, n))
        with T.Kernel(m, threads=32) as i:
            for j in T.Parallel(n):
                C[i, j] = A[i, j] + B[i % 8, j % 4]

    built = compiled(kernel, target)
    for m, n in ((1, 1), (9, 40)):
        a, b = sample(dtype, (m, n)), sample(dtype, (4, 8), 1).T
        c = rerun(built, kernel, a, b, zeros("float32", (m, n)), m, n)[2]
        i, j = np.ogrid[:m, :n]
        np.testing.assert_array_equal(c, (a + b[i % 8, j % 4]).astype(np.float32))
    with pytest.raises(ArgumentError, match=r"a.shape\[1\]|n is 5"):
        built(sample(dtype, (2, 4)), b, zeros("float32", (2, 5)), 2, 5)


def test_pointers_that_are_no_tensors():
    def build(use):
        @T.prim_func
        def kernel(a: T.ptr("float32"), B: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                use(a, B)

    def twice(a, B):
        T.make_tensor(a, (4,))
        T.make_tensor(a, (2, 2))

    for use, words in (
        (lambda a, B: None, "is a T.ptr without a shape"),
        (twice, "T.make_tensor is called twice for a"),
        (lambda a, B: T.make_tensor(B, (4,)), "is not a T.ptr parameter"),
        (lambda a, B: T.make_tensor(a, (4,), "float16"), "the element type of T.make_tensor"),
    ):
        with pytest.raises((LanguageError, UnsupportedError), match=words):
            build(use)


# -- reductions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize(("rows", "columns"), [(16, 32), (5, 12), (64, 1)])
def test_sum_of_magnitudes(target, rows, columns, dim):
    size = columns if dim == 0 else rows

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=64):
            x, y = T.alloc_fragment((rows, columns), "float32"), T.alloc_fragment((size,), "float32")
            T.copy(X, x)
            T.reduce_abssum(x, y, dim=dim)
            T.copy(y, Y)

    x = sample("float32", (rows, columns))
    y = check(kernel, target, x, zeros("float32", size), compare=close)[1]
    np.testing.assert_allclose(y, np.abs(x).sum(dim), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("clear", [True, False])
def test_common_bits(target, dtype, clear):
    @T.prim_func
    def kernel(X: T.Tensor((9, 40), dtype), Y: T.Tensor((9,), dtype)):
        with T.Kernel(1, threads=64):
            x, y = T.alloc_fragment((9, 40), dtype), T.alloc_fragment((9,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            T.reduce_bitand(x, y, dim=1, clear=clear)
            T.copy(y, Y)

    rng = np.random.default_rng(0)
    x = (rng.integers(0, 128, (9, 40)) | rng.integers(0, 128, (9, 1))).astype(dtype)
    start = rng.integers(0, 128, 9).astype(dtype)
    expected = np.bitwise_and.reduce(x, 1)
    y = check(kernel, target, x, start)[1]
    np.testing.assert_array_equal(y, expected if clear else expected & start)


# -- vectors by hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(("stride", "lanes"), [(1, 4), (1, 2), (2, 4)])
def test_ramp(target, dtype, stride, lanes):
    @T.prim_func
    def kernel(X: T.Tensor((128,), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64 // lanes):
            i = T.get_thread_binding() * lanes
            Y[T.Ramp(i, 1, lanes)] = X[T.Ramp(i * stride, stride, lanes)]

    x = sample(dtype, 128)
    np.testing.assert_array_equal(check(kernel, target, x, zeros(dtype, 64))[1], x[: 64 * stride : stride])


def test_vectors_in_variables_and_arithmetic(target):
    """What a variable holds is the vector as it was; lanes are read before they are written."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=16):
            i = T.get_thread_binding() * 4
            v = X[1, T.Ramp(i, 1, 4)]
            X[1, T.Ramp(i, 1, 4)] = X[0, T.Ramp(i, 1, 4)] * 2 + T.Broadcast(1.5, 4)
            Y[T.Ramp(i, 1, 4)] = T.max(v, X[1, T.Ramp(i, 1, 4)])
            w = X[2, T.Ramp(i, 1, 4)]
            X[2, T.Ramp(i + 3, -1, 4)] = w
            X[3, T.Ramp(i + 3, -1, 4)] = X[3, T.Ramp(i, 1, 4)] + 1

    x = sample("float32", (4, 64))
    got, y = check(kernel, target, x, zeros("float16", 64))
    expected = x[0] * 2 + np.float32(1.5)
    np.testing.assert_array_equal(got[1], expected)
    np.testing.assert_array_equal(y, np.maximum(x[1], expected).astype(np.float16))
    turned = x[2:].reshape(2, 16, 4)[..., ::-1].reshape(2, 64)
    np.testing.assert_array_equal(got[2:], turned + np.array([[0], [1]], np.float32))


def test_vectors_out_of_place():
    def build(write):
        @T.prim_func
        def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                write(X, Y)

    def mixed(X, Y):
        Y[T.Ramp(0, 1, 4)] = X[T.Ramp(0, 1, 2)]

    def scalar(X, Y):
        Y[0] = X[T.Ramp(0, 1, 4)]

    for write, words in (
        (mixed, "2 lanes and 4 lanes|4 lanes and 2 lanes"),
        (scalar, "where one value is expected"),
    ):
        with pytest.raises(LanguageError, match=words):
            build(write)


# -- kernels by the decorator ----------------------------------------------------------------------------------


def on_device(target, *arrays):
    """The arrays as a kernel of the target takes them: as they are, or on its device."""
    import torch

    backend, resolved = tilecore.plugins.manager.resolve(target)
    chosen = next(a for a in backend.adapters.values() if a.available(resolved).present)
    tensors = [torch.from_numpy(a) for a in arrays]
    return tensors if chosen.device == 1 else [t.to(chosen.torch_device()) for t in tensors]


def test_const_and_empty(target):
    runs_kernels()

    @tilecore.jit(target=target)
    def scale(X, factor=2):
        M, N = T.const("M, N")
        X: T.Tensor[[M, N], T.float32]
        Y = T.empty((M, N), T.float32)
        Z = T.empty((N,), T.int32)
        with T.Kernel(M, threads=32) as b:
            for j in T.Parallel(N):
                Y[b, j] = X[b, j] * factor
                if b == 0:
                    Z[j] = j + M
        return Y, Z

    for m, n in ((1, 5), (4, 33)):
        x = sample("float32", (m, n))
        y, z = scale(*on_device(target, x), factor=3)
        np.testing.assert_array_equal(y.cpu().numpy(), x * 3)
        np.testing.assert_array_equal(z.cpu().numpy(), np.arange(n) + m)


def adder(n=100, block=32):
    @T.prim_func
    def add(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, block), threads=32) as b:
            s = T.alloc_shared((block,), "int32")
            T.copy(A[b * block], s)
            for i in T.Parallel(block):
                if b * block + i < n:
                    B[b * block + i] = s[block - 1 - i] * 0 + s[i] + 1

    return add


KEYS = "TL_DISABLE_WARP_SPECIALIZED TL_ENABLE_FAST_MATH TL_DISABLE_TMA_LOWER TL_DISABLE_THREAD_STORAGE_SYNC".split()


@pytest.mark.parametrize("key", KEYS)
def test_pass_configs(target, key):
    """Each may change the speed; what is computed stays."""
    func = adder()
    check(func, target, sample("int32", 100), zeros("int32", 100), pass_configs={tilecore.PassConfigKey[key]: True})


@pytest.mark.parametrize("supply", ["Randn", "Normal", "Integer", "Auto"])
def test_supplied_inputs(target, supply):
    runs_kernels()
    kernel = tilecore.compile(adder(), out_idx=[1], target=target)
    assert isinstance(kernel, tilecore.JITKernel)
    profiler = kernel.get_profiler(tensor_supply_type=tilecore.TensorSupplyType[supply])
    profiler.assert_allclose(lambda a: a + 1)
    with pytest.raises(AssertionError):
        profiler.assert_allclose(lambda a: a + 2)


def test_timing(target):
    runs_kernels()
    kernel = tilecore.compile(adder(), out_idx=[1], target=target)
    assert kernel.get_profiler().do_bench(warmup=1, rep=1) > 0
    (a,) = on_device(target, sample("int32", 100))
    assert tilecore.profiler.do_bench(lambda: kernel(a), warmup=1, rep=1) > 0


def test_lower(target):
    lowered = tilecore.lower(adder(), target=target)
    assert "add" in lowered.kernel_source


def test_autotune(target):
    runs_kernels()
    from tilecore.autotuner import AutoTuner, set_autotune_inputs

    @tilecore.autotune(configs=[{"block": 16}, {"block": 32}], warmup=1, rep=1, timeout=60)
    @tilecore.jit(out_idx=-1, target=target)
    def tuned(n, block=None):
        return adder(n, block)

    (a,) = on_device(target, sample("int32", 100))
    with set_autotune_inputs(a):
        kernel = tuned(100)
    assert kernel.config["block"] in (16, 32)
    np.testing.assert_array_equal(kernel(a).cpu().numpy(), a.cpu().numpy() + 1)

    tuner = AutoTuner.from_kernel(lambda block: adder(100, block), [{"block": 16}, {"block": 32}])
    tuner.set_compile_args(out_idx=-1, target=target)
    best = tuner.set_profile_args(warmup=1, rep=1, ref_prog=lambda a: a + 1).run(warmup=1, rep=1, timeout=60)
    assert best.config["block"] in (16, 32)
