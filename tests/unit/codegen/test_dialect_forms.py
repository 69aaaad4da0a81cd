"""What a C-like language that is not C++ says in its dialect: names for sizes, words in front of pointers, suffixes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_kit import HOST, TX, buffer, kernel, source

from tilecore.codegen.forms import C
from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import AllocBuffer, BufferLoad, BufferStore, DeclBuffer, Ramp, tirx
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_ops import tile_statement

OTHER = replace(
    HOST,
    forms=replace(
        C,
        suffixes={"int64": "l", "uint64": "ul"},
        printed={"int": ("%ld", "long"), "uint": ("%lu", "ulong"), "float": ("%g", "float"), "bool": ("%d", "int")},
    ),
    spaces={"global": "far", "shared": "near"},
    aliased=lambda kind: f"any_{kind}",
)


def statement(name, *args):
    return thread_statement(f"simt.{name}", args)


def memory_of_all_kinds():
    a, y = buffer("A", 64), buffer("Y", 64)
    tile, regs = buffer("tile", 64, scope="shared"), buffer("regs", 4, scope="local")
    bits, raw = buffer("bits", 64, "uint32"), buffer("raw", 64, "uint32", "shared")
    typed = buffer("own", 4, "uint32", "local")
    at = Ramp(TX * 4, 1, 4)
    body = seq(
        [
            AllocBuffer(tile),
            AllocBuffer(regs),
            DeclBuffer(bits, data=tirx.buffer_data(a)),
            DeclBuffer(raw, data=tirx.buffer_data(tile)),
            DeclBuffer(typed, data=tirx.buffer_data(regs)),
            BufferStore(tile, BufferLoad(a, [at]), [at]),
            BufferStore(regs, BufferLoad(tile, [at]), [Ramp(0, 1, 4)]),
            store(raw, load(bits, [TX]) + load(typed, [0]), [TX]),
            BufferStore(y, BufferLoad(regs, [Ramp(0, 1, 4)]), [at]),
        ]
    )
    facts = {"simt_access": {"A": "r", "Y": "w"}, "simt_shared_bytes": 256, "simt_shared": {"tile": 0}}
    return kernel([a, y], body, threads=[16], **facts)


def test_pointers_name_their_memory():
    text = source(memory_of_all_kinds(), OTHER)
    assert "(far const float* __restrict__ A, far float* __restrict__ Y)" in text
    assert "near any_float* tile = (near any_float*)(shared + 0);" in text
    assert "far const any_unsigned* bits = (far const any_unsigned*)A;" in text
    assert "near any_unsigned* raw = (near any_unsigned*)tile;" in text
    assert "any_unsigned* own = (any_unsigned*)regs;" in text
    assert "alignas(16) float regs[4];" in text


def test_without_such_words_pointers_are_plain():
    text = source(memory_of_all_kinds())
    assert "(const float* __restrict__ A, float* __restrict__ Y)" in text
    assert "float* tile = (float*)(shared + 0);" in text
    assert "const unsigned* bits = (const unsigned*)A;" in text


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        (HOST, ["tc_move<16>(tile", "tc_copy_async<8>(tile, A, true)", "tc_wait_async<1>()"]),
        (OTHER, ["tc_move_16(tile", "tc_copy_async_8(tile, A, true)", "tc_wait_async_1()"]),
    ],
    ids=["templates", "names"],
)
def test_functions_of_a_size(dialect, names):
    a, tile = buffer("A", 64), buffer("tile", 64, scope="shared")
    at = Ramp(TX * 4, 1, 4)
    zero = const(0, "int32")
    copied = statement("copy_async", load(tile, [zero]), load(a, [zero]), const(8, "int32"), const(True, "bool"))
    body = seq(
        [
            AllocBuffer(tile),
            copied,
            statement("wait_async", const(1, "int32")),
            BufferStore(tile, BufferLoad(a, [at]), [at]),
        ]
    )
    text = source(kernel([a], body, simt_access={"A": "r"}, simt_shared={"tile": 0}, simt_shared_bytes=256), dialect)
    for name in names:
        assert name in text


def test_constants_and_prints():
    y = buffer("Y", 2, "int64")
    shown = tile_statement("print", ["y", load(y, [0]), const(2.5, "float32"), const(7, "uint64")])
    body = seq([store(y, const(2**40, "int64"), [0]), store(y, const(-(2**63), "int64"), [1]), shown])
    text = source(kernel([y], body), OTHER)
    assert "Y[0] = 1099511627776l;" in text
    assert "Y[1] = (-9223372036854775807l - 1);" in text
    assert 'tc_print("y: %ld %g %lu\\n", (long)Y[0], (float)2.5f, (ulong)7ul);' in text
    assert 'tc_print("y: %lld %g %llu\\n", (long long)Y[0], (double)2.5f, (unsigned long long)7ull);' in source(
        kernel([y], body)
    )
