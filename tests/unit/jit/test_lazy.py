"""tilecore.jit on factories and on kernels: arguments, outputs, settings, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle

import numpy as np
import pytest
import torch

import tilecore
import tilecore.language as T
from tilecore.compiler import CompileOptions, build_artifact, lower
from tilecore.errors import ArgumentError, LanguageError, TargetError
from tilecore.jit.compile import ir_of
from tilecore.jit.kernel import JITKernel
from tilecore.plugins import manager
from tilecore.transform import plain_pass_configs

FAST = tilecore.PassConfigKey.TL_ENABLE_FAST_MATH


@tilecore.jit(target="cpu")
def three(n, amount=1, *, dtype="int32"):
    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n, 2), "float16"), s: T.float32):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] + amount
            for i, j in T.Parallel(n, 2):
                C[i, j] = s

    return kernel


FUNC = three.get_tir(8)


@T.prim_func
def doubled(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * 2.0


# -- the decorator ------------------------------------------------------------------------------------------------


def test_equal_arguments_give_the_same_kernel_however_they_are_passed():
    kernel = three(8)
    assert isinstance(kernel, JITKernel)
    for same in (three(n=8), three(8, 1), three(amount=1, n=8), three(8, dtype="int32"), three.compile(8)):
        assert same is kernel
    others = [three(8, 2), three(16), three(8, dtype="int64"), three(8, 1.0)]
    assert len({id(k) for k in [kernel, *others]}) == 5
    assert three(8, 2) is others[0]


def test_arguments_that_do_not_fit_are_refused():
    for args, names in (((), {}), ((8, 1, "int32"), {}), ((8,), {"m": 3}), ((8,), {"n": 8})):
        with pytest.raises(TypeError):
            three(*args, **names)


def test_the_key_is_that_of_the_arguments():
    key = three.parse_cache_key(8, amount=[1, {"a": {2}}])
    assert key == three.parse_cache_key(amount=[1, {"a": {2}}], n=8)
    assert hash(key) == hash(three.parse_cache_key(8, [1, {"a": {2}}]))
    for other in ([1, {"a": {3}}], (1, {"a": {2}}), [True, {"a": {2}}], [1.0, {"a": {2}}]):
        assert three.parse_cache_key(8, other) != key


def test_arguments_that_cannot_be_hashed_are_told_apart_for_as_long_as_kernels_live():
    """Python gives the address of an object that is gone to the next one."""

    @tilecore.jit(target="cpu")
    def sized(array):
        n = int(array.sum())

        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                T.fill(A, n)

        return kernel

    for n in range(1, 6):
        assert sized(np.array([n, 0])).params[0].shape == (n,)
        gc.collect(0)
    array = np.array([7, 0])
    assert sized(array) is sized(array)


def test_lists_count_by_what_is_in_them_now():
    @tilecore.jit(target="cpu")
    def sized(sizes=[2, 3]):  # noqa: B006 - the mutable default is what is tested
        @T.prim_func
        def kernel(A: T.Tensor(tuple(sizes), "int32")):
            with T.Kernel(1):
                T.fill(A, 1)

        return kernel

    first = sized()
    assert first.params[0].shape == (2, 3)
    sized.__wrapped__.__defaults__[0].append(4)
    assert sized().params[0].shape == (2, 3, 4)
    assert sized([2, 3]) is first


def test_with_and_without_parentheses():
    def factory(n):
        return three.get_tir(n)

    for make in (tilecore.jit, tilecore.jit(), tilecore.lazy_jit):
        decorated = make(factory)
        assert (decorated.mode, decorated.__name__) == ("lazy", "factory")
        assert repr(decorated).startswith("<tilecore.jit lazy ")


def test_on_a_kernel():
    kernel = tilecore.jit(doubled, target="cpu")
    assert kernel.mode == "kernel"
    a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernel(a, b)
    assert (b == 2 * a).all()
    b[:] = 0
    kernel[(1,)](a, b)
    assert (b == 2 * a).all()
    assert kernel.compile() is kernel.compile()
    assert kernel.get_tir().same_as(doubled.ir)
    assert kernel.params == kernel.compile().params, "what a kernel has, it has"
    assert "doubled" in kernel.get_kernel_source()
    with pytest.raises(AttributeError):
        kernel.no_such_thing  # noqa: B018
    out = tilecore.jit(out_idx=-1, target="cpu")(doubled)
    assert (out(a) == 2 * a).all()


def test_the_methods_of_a_factory():
    assert str(three.get_tir(8).attrs["global_symbol"]) == "kernel"
    assert three.get_kernel_source(8) == three(8).get_kernel_source()
    assert three.signature.parameters["amount"].default == 1
    with pytest.raises(AttributeError):
        three.artifact  # noqa: B018 - it has a kernel for each set of arguments
    with pytest.raises(TypeError, match="call the function with its arguments first"):
        three[(1,)]


@pytest.mark.parametrize("returned", [None, 3, doubled.function, "text"], ids=["None", "int", "function", "str"])
def test_a_factory_that_returns_no_kernel_is_refused(returned):
    def factory(n):
        return returned

    with pytest.raises(LanguageError, match=f"factory returned {type(returned).__name__}") as caught:
        tilecore.jit(factory, target="cpu")(3)
    assert "T.prim_func" in caught.value.expected


def test_only_functions_are_decorated():
    for value in ("text", 3, int, np.zeros(2)):
        with pytest.raises(LanguageError, match="decorates functions only"):
            tilecore.jit(value)


def test_on_a_method():
    class Model:
        def __init__(self, amount):
            self.amount = amount

        @tilecore.jit(target="cpu", out_idx=-1)
        def layer(self, n):
            amount = self.amount

            @T.prim_func
            def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
                with T.Kernel(1):
                    for i in T.Parallel(n):
                        B[i] = A[i] + amount

            return kernel

    adds_1, adds_2 = Model(1), Model(2)
    a = np.zeros(4, np.int32)
    assert [int(m.layer(4)(a)[0]) for m in (adds_1, adds_2, adds_1)] == [1, 2, 1]
    assert adds_1.layer(n=4) is adds_1.layer(4)
    assert Model.layer.mode == "lazy"


def test_kernels_and_factories_are_pickled_and_copied():
    kernel = tilecore.compile(FUNC, out_idx=1, target="cpu")
    kernel.config = {"block": 3}
    try:
        again = pickle.loads(pickle.dumps(kernel))
    finally:
        kernel.config = None
    assert again is not kernel
    assert (again.artifact, again.config, repr(again)) == (kernel.artifact, {"block": 3}, repr(kernel))
    a = np.arange(8, dtype=np.int32)
    assert (again(a, np.zeros((8, 2), np.float16), 1.0) == a + 1).all()
    holder = {"kernel": kernel, "factory": three}
    for copied in (copy.copy(holder), copy.deepcopy(holder)):
        assert copied["kernel"] is kernel
        assert copied["factory"] is three
    assert pickle.loads(pickle.dumps(three)) is three


# -- outputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out_idx", "names"),
    [(1, "B"), (-3, "B"), (-2, "C"), ([1], "B"), ((1, -2), "BC"), ([2, 1], "CB"), ([1, 1], "B"), (np.int64(1), "B")],
)
def test_outputs_are_returned_in_the_order_asked_for(out_idx, names):
    kernel = tilecore.compile(FUNC, out_idx=out_idx, target="cpu")
    assert "".join(kernel.params[i].name for i in kernel.out_idx) == names
    assert all(type(i) is int for i in kernel.out_idx)
    a = np.arange(8, dtype=np.int32)
    passed = {"A": a, "s": 0.5, "B": np.zeros(8, np.int32), "C": np.zeros((8, 2), np.float16)}
    outputs = kernel(*(passed[p.name] for p in kernel.params if p.name not in names))
    outputs = [outputs] if len(names) == 1 else outputs
    expected = {"B": a + 1, "C": np.full((8, 2), 0.5, np.float16)}
    assert len(outputs) == len(names)
    for array, name in zip(outputs, names, strict=True):
        np.testing.assert_array_equal(array, expected[name], strict=True)


def test_outputs_come_from_the_library_of_the_inputs():
    kernel = tilecore.compile(FUNC, out_idx=[1, 2], target="cpu")
    b, c = kernel(torch.arange(8, dtype=torch.int32), 0.5)
    assert (type(b), b.dtype, tuple(b.shape), b.device.type) == (torch.Tensor, torch.int32, (8,), "cpu")
    assert (type(c), c.dtype, tuple(c.shape)) == (torch.Tensor, torch.float16, (8, 2))
    assert [type(output) for output in kernel(np.arange(8, dtype=np.int32), 0.5)] == [np.ndarray, np.ndarray]
    mixed = tilecore.compile(FUNC, out_idx=1, target="cpu")
    assert type(mixed(np.arange(8, dtype=np.int32), torch.zeros(8, 2, dtype=torch.float16), 1.0)) is torch.Tensor


@pytest.mark.parametrize(
    ("out_idx", "message"),
    [
        (7, "out_idx 7 names no parameter"),
        (-5, "out_idx -5 names no parameter"),
        (3, "out_idx 3 names s, which is no tensor"),
        (-1, "out_idx -1 names s, which is no tensor"),
        ([1, 0], "out_idx 0 names A, which the kernel does not write"),
        *[(value, "out_idx must be positions of parameters") for value in ("1", 1.0, True, [None], {1: 2}, b"\1")],
    ],
)
def test_wrong_outputs(out_idx, message):
    with pytest.raises(TargetError, match=message):
        tilecore.compile(FUNC, out_idx=out_idx, target="cpu")


def test_shapes_of_outputs_that_only_the_call_knows():
    M, N, K = T.dynamic("m, n, k")

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((N,), "int8"),
        C: T.Tensor((M, 2 * N), "float32"),
        D: T.Tensor((K + 1,), "int8"),
    ):
        with T.Kernel(M) as b:
            for j in T.Parallel(2 * N):
                C[b, j] = A[b, 0] + j
            for j in T.Parallel(K + 1):
                D[j] = B[0]

    kernel = tilecore.compile(kernel, out_idx=[2, 3], target="cpu")
    for m, n, k in ((1, 1, 1), (3, 5, 2), (7, 2, 64)):
        a, b = torch.rand(m, k), torch.arange(3, n + 3, dtype=torch.int8)
        c, d = kernel(a, b)
        torch.testing.assert_close(c, a[:, :1] + torch.arange(2 * n))
        torch.testing.assert_close(d, torch.full((k + 1,), 3, dtype=torch.int8))
    c, d = kernel(torch.zeros(0, 4), torch.zeros(3, dtype=torch.int8))
    assert (tuple(c.shape), tuple(d.shape)) == ((0, 6), (5,))


# -- settings -----------------------------------------------------------------------------------------------------


def test_execution_backends_go_by_name(monkeypatch):
    for name in (None, "auto", "native"):
        assert tilecore.compile(FUNC, execution_backend=name, target="cpu").execution_backend == "native"
    with pytest.raises(TargetError, match="target 'cpu' has no execution backend 'nope'") as caught:
        tilecore.compile(FUNC, execution_backend="nope", target="cpu")
    assert caught.value.expected == "auto, cython, dlpack, tvm_ffi, torch, native"
    assert caught.value.hint is None
    monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", "nope")
    for name in (None, "auto"):
        with pytest.raises(TargetError) as caught:
            tilecore.compile(FUNC, execution_backend=name, target="cpu")
        assert "TILECORE_EXECUTION_BACKEND" in caught.value.hint
    assert tilecore.compile(FUNC, execution_backend="native", target="cpu").execution_backend == "native"


def test_the_environment_names_the_target_of_kernels_that_name_none(monkeypatch):
    monkeypatch.setenv("TILECORE_TARGET", "cpu -march=generic -vector_bits=256")
    for target in (None, "auto"):
        kernel = tilecore.compile(FUNC, target=target)
        assert (kernel.target.get("march"), kernel.target.get("vector_bits")) == ("generic", 256)
    assert tilecore.compile(FUNC, target="cpu").target.get("march") == "native"


def test_pass_configs_are_checked():
    with pytest.raises(TargetError, match=r"unknown pass configuration 'tl.enable_fastmath'") as caught:
        tilecore.jit(three.func, target="cpu", pass_configs={"tl.enable_fastmath": True})(8)
    assert caught.value.hint.startswith("did you mean 'tl.enable_fast_math' or ")
    with pytest.raises(TargetError, match="pass_configs must be a dict"):
        tilecore.compile(FUNC, target="cpu", pass_configs=["tl.enable_fast_math"])
    key = tilecore.PassConfigKey.TL_ENABLE_FAST_MATH
    assert tilecore.compile(FUNC, target="cpu", pass_configs={key: True}).artifact.name == "kernel"


@pytest.mark.parametrize(
    ("pass_configs", "fast", "simplify"), [({}, True, 3), ({FAST: False}, False, 3), ({"tl.Simplify": 0}, True, 0)]
)
def test_pass_configs_of_a_kernel(pass_configs, fast, simplify):
    """The caller's go before them."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        T.annotate_pass_configs({FAST: True, "tl.Simplify": 3})
        with T.Kernel(1):
            for i in T.Parallel(8):
                X[i] += 1

    seen = []
    backend, target = manager.resolve("cpu")
    spec = dataclasses.replace(backend.toolchain, build=lambda r: seen.append(r.config) or backend.toolchain.build(r))
    changed = dataclasses.replace(backend, toolchain=spec)
    options = CompileOptions(pass_configs=plain_pass_configs(pass_configs))
    func = ir_of(kernel)
    _, env = lower(func, changed, target, options)
    assert env.config == {"tl.enable_fast_math": fast, "tl.Simplify": simplify}
    build_artifact(func, changed, target, next(iter(changed.adapters)), options)
    assert [dict(config) for config in seen] == [env.config]


@pytest.mark.parametrize("flags", [3, ["-O3", 3], {"-O3": object}.values()], ids=["int", "mixed", "objects"])
def test_compile_flags_are_text(flags):
    with pytest.raises(TargetError, match="compile_flags must be text"):
        tilecore.compile(FUNC, target="cpu", compile_flags=flags)


def test_compile_flags_reach_the_toolchain(moody):
    for flags in ("moody-slow=1", ["moody-slow=1"], ("moody-slow=1",)):
        kernel = tilecore.compile(FUNC, target=moody, compile_flags=flags)
        assert kernel.artifact.binary.startswith(b'["slow=1"]\n')
    assert tilecore.compile(FUNC, target=moody).artifact.binary.startswith(b"[]\n")


def test_the_host_is_the_only_host():
    with pytest.raises(TargetError, match="target_host"):
        tilecore.compile(FUNC, target="cpu", target_host="elsewhere")
    assert tilecore.compile(FUNC, target="cpu", target_host="llvm -mcpu=x").artifact.name == "kernel"


# -- the kernel ---------------------------------------------------------------------------------------------------


def test_what_a_kernel_tells():
    kernel = tilecore.compile(FUNC, out_idx=1, target="cpu")
    assert repr(kernel) == "<JITKernel kernel(A, B, C, s) on cpu, native>"
    assert [p.name for p in kernel.params] == ["A", "B", "C", "s"]
    assert kernel.get_tir().same_as(FUNC)
    assert kernel.prim_func.same_as(kernel.func)
    assert kernel.kernel_source == kernel.get_kernel_source() == kernel.artifact.source
    assert "int __tvm_ffi_kernel(" in kernel.get_host_source()
    assert (kernel.config, kernel.latency, kernel.from_cache) == (None, None, False)


def test_show_source(capsys):
    kernel = three(8)
    kernel.show_source()
    assert capsys.readouterr().out == kernel.get_kernel_source() + "\n"


def test_a_grid_may_be_given_and_changes_nothing():
    kernel = tilecore.compile(FUNC, out_idx=[1, 2], target="cpu")
    a = np.arange(8, dtype=np.int32)
    for grid in (1, (1,), (4, 5), (1, 2, 3)):
        assert (kernel[grid](a, 1.0)[0] == a + 1).all()
    for grid in ((), (1, 2, 3, 4), (0,), (-1,), (1.5,), "4", None):
        with pytest.raises(ArgumentError, match="the grid is wrong"):
            kernel[grid]


def test_the_profiler_times_and_checks():
    profiler = tilecore.compile(doubled, out_idx=-1, target="cpu").get_profiler()
    profiler.assert_allclose(lambda a: a * 2)
    with pytest.raises(AssertionError):
        profiler.assert_allclose(lambda a: a * 3 + 1)
    assert profiler.do_bench(warmup=1, rep=1) > 0


# -- JITKernel as a constructor -----------------------------------------------------------------------------------


def test_the_class_called_on_a_function_compiles_it():
    kernel = JITKernel(doubled, target="cpu")
    assert isinstance(kernel, JITKernel)
    assert kernel is tilecore.compile(doubled, target="cpu")
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(JITKernel(doubled, [-1], None, "cpu")(x), 2 * x)


@pytest.mark.parametrize(
    ("args", "settings", "kind", "message"),
    [
        ((), {}, LanguageError, "NoneType cannot be compiled"),
        ((three,), {}, LanguageError, "JITImpl cannot be compiled"),
        ((doubled,), {"target": "nothing"}, TargetError, "no installed backend"),
        ((doubled,), {"from_database": True}, TargetError, "from_database=True"),
        ((doubled,), {"backend": "x"}, TypeError, "backend"),
    ],
)
def test_the_class_called_on_what_is_no_kernel(args, settings, kind, message):
    with pytest.raises(kind, match=message):
        JITKernel(*args, **settings)


def test_a_function_of_kernels_that_is_called_with_tensors():
    @tilecore.jit(target="cpu")
    def scaled(N, dtype="float32"):
        @T.prim_func
        def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
            with T.Kernel(1):
                T.copy(X, Y)

        return kernel

    x = np.zeros(4, np.float32)
    for args in ((x,), (x, x)):
        with pytest.raises(LanguageError) as caught:
            scaled(*args)
        assert "scaled returns a kernel" in caught.value.hint
        assert "scaled(N, dtype)(tensors...)" in caught.value.hint
    with pytest.raises(ArgumentError, match=r"scaled\(\): an argument is missing: N"):
        scaled()


@pytest.mark.parametrize(
    ("target", "hint", "without"),
    [
        ("gpu", "use target='auto' for the device of this machine", "pip install"),
        ("cppu", "did you mean 'cpu'?", "pip install"),
        ("elsewhere", "usually named tile-elsewhere", "did you mean"),
    ],
)
def test_what_an_unknown_target_advises(target, hint, without):
    with pytest.raises(TargetError) as caught:
        tilecore.compile(doubled, target=target)
    assert hint in caught.value.hint
    assert without not in caught.value.hint


def test_a_misspelt_keyword_of_a_factory():
    @tilecore.jit
    def factory(N, block=32):
        raise AssertionError

    with pytest.raises(ArgumentError, match="unexpected keyword argument 'blok'") as caught:
        factory(64, blok=16)
    assert caught.value.hint == "did you mean 'block'?"


def test_a_factory_without_return_says_where_it_is():
    @tilecore.jit
    def factory(N):
        @T.prim_func
        def kernel(A: T.Tensor((N,), "float32")):
            with T.Kernel(1):
                A[0] = 1

    with pytest.raises(LanguageError, match="factory returned NoneType, not a kernel") as caught:
        factory(64)
    assert caught.value.location.line == factory.func.__code__.co_firstlineno
    assert "end the function with `return`" in caught.value.hint


def test_a_kernel_that_the_body_of_another_one_asks_for():
    """Inside, == of variables is no comparison of the outer kernel."""

    @tilecore.jit(target="cpu")
    def inner(n, by):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] + by

        return kernel

    kernels = []

    @tilecore.jit(target="cpu")
    def outer(A, by=3):
        n = T.const("n")
        A: T.Tensor((n,), "int32")
        kernels.append(inner(4, by))
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i] = by

    a, b = np.zeros(3, np.int32), np.zeros(4, np.int32)
    outer(a)
    kernels[0](np.arange(4, dtype=np.int32), b)
    assert (a.tolist(), b.tolist()) == ([3, 3, 3], [3, 4, 5, 6])
