"""Thread IR asks ``isnan`` where a maximum keeps a NaN, so that every language can write its own test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_kit import HOST, TX, buffer, kernel, source

import tilecore.language as T
from tilecore.codegen.forms import C
from tilecore.codegen.text import call
from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.records import Capabilities
from tilecore.ir.build import const, load, op_name, store
from tilecore.ir.nodes import NE, Call, Select, structural_equal, tirx
from tilecore.ir.reductions import combine
from tilecore.ir.visit import collect
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS, STEPS
from tilecore.target import Target


def of_bits(emit, node):
    return call("is_nan_by_bits", emit.value(node.args[0]))


def maximum(dtype="float32"):
    a, y = buffer("A", 64, dtype), buffer("Y", 64, dtype)
    return kernel([a, y], store(y, combine("max.nan", load(y, [TX]), load(a, [TX])), [TX]), threads=[64])


def number_or_zero():
    dtype = "float32"
    a, y = buffer("A", 64, dtype), buffer("Y", 64, dtype)
    value = Select(tirx.isnan(load(a, [TX])), const(0, dtype), load(a, [TX]))
    return kernel([a, y], store(y, value, [TX]), threads=[64])


def test_languages_of_the_family_compare_the_value_with_itself():
    assert "A[tx] > Y[tx] || A[tx] != A[tx] ? A[tx] : Y[tx]" in source(maximum())
    assert "tc_isnan(A[tx]) ?" in source(number_or_zero())
    narrow = source(maximum("float16"), replace(HOST, forms=C))
    assert "tc_single(A[tx]) != tc_single(A[tx])" in narrow


@pytest.mark.parametrize("func", [maximum(), number_or_zero()])
def test_a_language_writes_its_own(func):
    text = source(func, replace(HOST, values={"isnan": of_bits}))
    assert "is_nan_by_bits(A[tx]) ? " in text
    assert "!=" not in text
    assert "tc_isnan" not in text


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("op", [T.reduce_max, T.reduce_min, T.reduce_absmax])
def test_reductions_that_keep_a_nan(op, dtype):
    @T.prim_func
    def rows(X: T.Tensor((64, 96), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(4, threads=64) as b:
            x = T.alloc_fragment((16, 96), dtype)
            y = T.alloc_fragment((16,), dtype)
            T.copy(X[b * 16, 0], x)
            op(x, y, dim=1, nan_propagate=True)
            T.copy(y, Y[b * 16])

    nothing = frozenset()
    env = PassEnv(Target("imagined"), Capabilities(nothing, nothing, nothing, 1024, 32, 64 << 10), IMPLEMENTATIONS)
    current = rows.ir
    for step in STEPS:
        if isinstance(step, Pass):
            current = step.run(current, env)
    (func,) = current.functions.values()
    assert [node for node in collect(func.body, Call) if op_name(node) == "isnan"]
    assert not [node for node in collect(func.body, NE) if structural_equal(node.a, node.b)]
