"""Signatures: annotations as objects and as strings, in modules, functions, methods and made-up source."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import textwrap

import numpy
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError


def shape(kernel, number):
    """The shape of a tensor parameter, as text."""
    return ", ".join(str(size) for size in kernel.ir.params[number].shape)


def test_strings_under_the_future_import(load_module):
    """Names of the module, of the enclosing functions, and names that only annotations use."""
    kernels = load_module(
        """
        from __future__ import annotations
        import tilecore.language as T

        SIZE = 32
        kind = "float16"

        @T.prim_func
        def plain(X: T.Tensor((SIZE, 2), kind), n: T.int32, y: int):
            with T.Kernel(1):
                X[0, 0] = n + y

        def factory(M, N, K, dtype="bfloat16"):
            block = 8

            def inner(K):
                rows = T.dynamic("rows")

                @T.prim_func
                def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((rows, N, block), "int8")):
                    with T.Kernel(1):
                        A[0, 0] = 1

                return kernel

            return inner(K)

        def late(M):
            def inner():
                @T.prim_func
                def kernel(A: T.Tensor((M,), "int8")):
                    with T.Kernel(1):
                        A[0] = 1

                return kernel

            return inner

        class Maker:
            def __init__(self, n):
                self.n = n

            def kernel(self, m):
                total = self.n * m

                @T.prim_func
                def made(A: T.Tensor((total,), "float32")):
                    with T.Kernel(total) as b:
                        A[b] = self.n

                return made
        """
    )
    assert shape(kernels.plain, 0) == "32, 2"
    assert [str(p.ty.dtype) for p in kernels.plain.ir.params[1:]] == ["int32", "int32"]
    kernel = kernels.factory(4, 5, 6)
    assert shape(kernel, 0) == "4, 6"
    assert str(kernel.ir.params[0].dtype) == "bfloat16"
    assert shape(kernel, 1) == "rows, 5, 8"
    assert shape(kernels.Maker(3).kernel(7), 0) == "21"
    with pytest.raises(LanguageError, match="name 'M' is not defined") as caught:
        kernels.late(5)()  # nothing but the annotation's text knows M, and `late` has returned
    assert "from __future__ import annotations" in str(caught.value)


def test_a_string_that_cannot_be_evaluated(load_module):
    with pytest.raises(LanguageError, match="annotation of parameter 'A' cannot be evaluated") as caught:
        load_module(
            """
            from __future__ import annotations
            import tilecore.language as T

            @T.prim_func
            def kernel(A: T.Tensor((missing,), "float32")):
                with T.Kernel(1):
                    A[0] = 1
            """
        )
    assert "missing" in str(caught.value)
    assert caught.value.location is not None
    assert caught.value.location.line == 6


def test_parameters_that_say_nothing_or_something_else(load_module):
    for signature, message in (
        ("A", "parameter 'A' of kernel has no annotation"),
        ("A: 'tuple'", "annotation of parameter 'A' is not a type of the language"),
        ("A: list", "annotation of parameter 'A' is not a type of the language"),
        ("A: T.Tensor", "needs a shape"),
        ("*A: T.Tensor((1,), 'int8')", r"\*A cannot be a parameter"),
        ("A: T.ptr", "'A' is a T.ptr without a shape"),
        ("A: T.Tensor((4.5,), 'int8')", "4.5 is not a size"),
        ("A: T.Tensor((-4,), 'int8')", "-4 is not a size"),
        ("A: T.StridedTensor((4, 4), (1,), 'int8')", "2 axes and 1 strides"),
        ("A: T.Tensor((4,), 'int7')", "unknown dtype 'int7'"),
    ):
        with pytest.raises(LanguageError, match=message):
            load_module(
                f"""
                import tilecore.language as T

                @T.prim_func
                def kernel({signature}):
                    with T.Kernel(1):
                        pass

                kernel.ir
                """
            )


def test_ways_to_write_types(load_module):
    pytest.importorskip("torch")
    kernels = load_module(
        """
        import torch, numpy
        import tilecore.language as T

        @T.prim_func
        def kernel(
            A: T.Tensor[[4, 5], T.float16],
            B: T.Tensor((4,), torch.bfloat16),
            C: T.Tensor((4,), numpy.int64),
            D: T.Buffer((4, 2), "uint8"),
            E: T.StridedTensor((4, 2), (1, 4), "float32"),
            F: T.Tensor(7, T.float),
            G: T.Tensor((2,)),
            a: T.float32, b: int, c: float, d: bool, e: "T.int64",
        ):
            with T.Kernel(1):
                A[0, 0] = 1
        """
    )
    kinds = [str(p.dtype) if p.name in "ABCDEFG" else str(p.ty.dtype) for p in kernels.kernel.ir.params]
    assert kinds[:7] == ["float16", "bfloat16", "int64", "uint8", "float32", "float32", "float32"]
    assert kinds[7:] == ["float32", "int32", "float32", "bool", "int64"]
    assert [int(s) for s in kernels.kernel.ir.params[4].strides] == [1, 4]


def test_what_can_be_decorated(load_module):
    import tilecore.language as T

    with pytest.raises(LanguageError, match=r"T\.prim_func decorates something that is not a function"):
        T.prim_func(3)
    with pytest.raises(LanguageError, match=r"T\.macro decorates something that is not a function"):
        T.macro("text")
    with pytest.raises(LanguageError, match=r"not a plain function|no annotation"):
        _ = T.prim_func(lambda A: None).ir
    scope: dict = {}
    exec("def made(A): pass", scope)
    with pytest.raises(LanguageError, match=r"source of made cannot be read|no annotation"):
        _ = T.prim_func(scope["made"]).ir


def test_source_made_by_exec_needs_its_text():
    text = textwrap.dedent(
        """
        import tilecore.language as T

        @T.prim_func
        def made(A: T.Tensor((4,), "int32")):
            with T.Kernel(4) as b:
                A[b] = b
        """
    )
    scope: dict = {"__name__": "made_up"}
    exec(compile(text, "<no file>", "exec"), scope)
    with pytest.raises(LanguageError, match="source of made cannot be read") as caught:
        _ = scope["made"].ir
    assert "linecache" in str(caught.value)
    linecache.cache["<a cell>"] = (len(text), None, text.splitlines(True), "<a cell>")
    exec(compile(text, "<a cell>", "exec"), scope)
    assert shape(scope["made"], 0) == "4"


def test_a_prim_func_is_not_called_directly(load_module):
    kernels = load_module(
        """
        import tilecore.language as T

        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(4) as b:
                A[b] = b
        """
    )
    with pytest.raises(LanguageError, match="cannot be called directly") as caught:
        kernels.kernel([1])
    assert "tilecore.compile(kernel)" in str(caught.value)
    assert "T.Kernel" in kernels.kernel.script() or "blockIdx" in kernels.kernel.script()
    assert repr(kernels.kernel) == "<T.prim_func kernel>"


def test_a_function_of_a_module_is_built_when_first_needed(load_module):
    """So that importing a module of kernels costs nothing, and its globals may follow it."""
    kernels = load_module(
        """
        import tilecore.language as T
        built = []

        def note(x):
            built.append(1)
            return x

        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(4) as b:
                A[b] = note(b) + LATER

        LATER = 5
        """
    )
    assert kernels.built == []
    _ = kernels.kernel.ir
    _ = kernels.kernel.ir
    assert kernels.built == [1]


FOR_TYPE_CHECKERS = """
from __future__ import annotations
from typing import TYPE_CHECKING
import tilecore
import tilecore.language as T

if TYPE_CHECKING:
    import elsewhere
    from elsewhere import Sizes


def first(sizes: Sizes) -> elsewhere.Size:
    return sizes[0]


@T.macro
def store(buffer: elsewhere.Buffer, value: elsewhere.Value, count: T.Ref):
    buffer[0] = value
    count += 1


@tilecore.jit(target="cpu")
def fill(sizes: Sizes = (3,)) -> elsewhere.Kernel:
    n = first(sizes)

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            count = T.alloc_var("int32", init=1)
            store(A, 7, count)
            A[1] = count

    return kernel

"""


@pytest.mark.parametrize("texts", [True, False] if sys.version_info >= (3, 14) else [True])
def test_annotations_of_other_functions_are_not_evaluated(load_module, texts):
    """They may name what type checkers alone import; Python 3.14 runs such functions."""
    kernels = load_module(
        FOR_TYPE_CHECKERS if texts else FOR_TYPE_CHECKERS.replace("from __future__ import annotations", "")
    )
    array = numpy.zeros(3, "int32")
    kernels.fill()(array)
    assert list(array) == [7, 2, 0]


def test_sizes_in_brackets_are_a_shape_of_float32():
    rows = T.dynamic("rows")
    for annotation, expected in (
        (T.Tensor[4, 8], (4, 8)),
        (T.Tensor[numpy.int64(4), 8, 2], (4, 8, 2)),
        (T.Buffer[4, rows], (4, rows)),
        (T.Tensor[rows * 2, rows + 1], (rows * 2, rows + 1)),
        (T.Tensor[5], (5,)),
    ):
        assert (len(annotation.shape), annotation.dtype) == (len(expected), "float32")
        assert all(str(size) == str(other) for size, other in zip(annotation.shape, expected, strict=True))


def test_brackets_with_an_element_type_are_a_call():
    kinds = ["float16", T.float16, numpy.float16, numpy.dtype("float16")]
    if importlib.util.find_spec("torch"):
        import torch

        kinds.append(torch.float16)
    for kind in kinds:
        for sizes in (8, (8,), [8]):
            annotation = T.Tensor[sizes, kind]
            assert (annotation.shape, annotation.dtype) == ((8,), "float16")
    assert T.Tensor[4, T.ptr].of_pointers
    assert T.StridedTensor[(4, 8), (1, 4)].strides == (1, 4)


def test_an_eager_kernel_declares_sizes_in_brackets():
    @tilecore.jit(target="cpu")
    def doubled(X):
        M, N = T.const("M, N")
        X: T.Tensor[M, N]
        Y = T.empty((M, N), "float32")
        with T.Kernel(M) as row:
            for column in T.Parallel(N):
                Y[row, column] = 2 * X[row, column]
        return Y

    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    assert doubled(x).tolist() == (2 * x).tolist()
