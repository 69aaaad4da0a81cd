"""The schemas of operations, and their names."""

from __future__ import annotations

import pytest
from op_kernels import N, add_into, compiled, scale, sum_and_difference

import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.runtime.call_plan import make_plan
from tilecore.torch_ops.names import parse_name
from tilecore.torch_ops.schema import schema_of

torch = pytest.importorskip("torch")


def schema(func, out_idx=None):
    kernel = compiled(func, out_idx)
    return schema_of(make_plan(kernel.artifact, kernel.device_type), "op")


@pytest.mark.parametrize(
    ("func", "out_idx", "text"),
    [
        (scale, -1, "op(Tensor A, float s) -> Tensor"),
        (scale, None, "op(Tensor A, float s, Tensor(a!) B) -> ()"),
        (add_into, None, "op(Tensor A, SymInt count, Tensor(a!) C) -> ()"),
        (sum_and_difference, [2, 3], "op(Tensor A, Tensor B) -> (Tensor, Tensor)"),
        (sum_and_difference, [3], "op(Tensor A, Tensor B, Tensor(a!) S) -> Tensor"),
        (sum_and_difference, None, "op(Tensor A, Tensor B, Tensor(a!) S, Tensor(b!) D) -> ()"),
    ],
)
def test_schemas(func, out_idx, text):
    assert schema(func, out_idx) == text
    torch._C.parse_schema(text)


def test_numbers_and_tensors_that_may_be_none():
    @T.prim_func
    def func(
        flag: T.bool, count: T.uint8, x: T.float64, A: T.Tensor((4,), "float32"), bias: T.Tensor((4,), "float32"),
        C: T.Tensor((4,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1):
            for i in T.serial(4):
                C[i] = A[i] + T.cast(x, "float32") + T.cast(count, "float32")
                if flag:
                    C[i] = C[i] + bias[i]

    text = schema(func, -1)
    assert text == "op(bool flag, SymInt count, float x, Tensor A, Tensor? bias) -> Tensor"
    torch._C.parse_schema(text)


def test_tensors_of_addresses_are_refused():
    @T.prim_func
    def func(table: T.Tensor((N,), T.ptr), C: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                C[i] = T.make_tensor(table[i], (1,), "float32")[0]

    with pytest.raises(UnsupportedError, match="which tensors it accesses"):
        schema(func, -1)


def test_names():
    assert parse_name("mylib::scale") == ("mylib", "scale", "")
    assert str(parse_name("my_lib::s2.m64")) == "my_lib::s2.m64"


@pytest.mark.parametrize(
    "name",
    ["scale", "a::b::c", "a.b", "a::", "::b", "a::b.", "a::2b", "a::b c", "a::class", "", None, 3, b"a::b"],
)
def test_wrong_names(name):
    with pytest.raises(ArgumentError, match="name of an operation of torch is wrong"):
        parse_name(name)


@pytest.mark.parametrize("name", ["a::name", "a::__init__"])
def test_names_that_every_namespace_has(name):
    with pytest.raises(ArgumentError, match="cannot be named"):
        parse_name(name)


@pytest.mark.parametrize("name", ["aten::add", "prims::mul"])
def test_namespaces_of_torch(name):
    with pytest.raises(ArgumentError, match="torch's own"):
        parse_name(name)
