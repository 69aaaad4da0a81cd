"""Statements and kernels as C: loops, memory, views, moves, what threads do together, and how the text looks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from host_kit import BX, HOST, TX, TY, buffer, compiled, kernel, needs_compiler, run, source

from tilecore.codegen.c_source import emit_module
from tilecore.codegen.names import Names
from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.errors import PluginError, UnsupportedError
from tilecore.ir.build import cast, const, load, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Break,
    BufferLoad,
    BufferStore,
    Cast,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IRModule,
    PrimFunc,
    Ramp,
    SourceName,
    Span,
    StringImm,
    Var,
    While,
    tirx,
)
from tilecore.ir.thread_calls import SHUFFLE
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.tile_ops import tile_call, tile_statement


def call(name: str, *args, dtype: str = "void"):
    return thread_call(f"simt.{name}", args, dtype=dtype)


def statement(name: str, *args):
    return Evaluate(call(name, *args))


def body_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[3:-1]]


@needs_compiler
def test_grid_and_threads():
    m = Var("m", "int32")
    a, y = buffer("A", m), buffer("Y", m)
    place = BX * 12 + TY * 4 + TX
    body = IfThenElse(place < m, store(y, load(a, [place]) * 2 + cast(m, "float32"), [place]), None)
    func = kernel([a, y, m], body, grid=[(m + 11) // 12], threads=[4, 3], simt_access={"A": "r", "Y": "w"})
    data, out = np.arange(30, dtype=np.float32), np.zeros(30, np.float32)
    text = run(func, data, out, 30, grid=[3], threads=[4, 3])
    np.testing.assert_array_equal(out, data * 2 + 30)
    assert 'extern "C" void k(const float* __restrict__ A, float* __restrict__ Y, int m) {' in text
    assert "const int tx = tc_thread[0], ty = tc_thread[1];" in text
    assert "if (bx * 12 + ty * 4 + tx < m) {" in text


@needs_compiler
def test_loops_and_control_flow():
    y, n = buffer("Y", 8, "int32"), buffer("N", 1, "int32", "local")
    i, j, k = (Var(name, "int32") for name in "ijk")
    first = load(n, [0])
    body = seq(
        [
            AllocBuffer(n),
            store(n, const(0, "int32"), [0]),
            For(i, 2, 10, ForKind.SERIAL, seq([
                IfThenElse(tirx.EQ(i, 4), Continue(), None),
                IfThenElse(tirx.EQ(i, 8), Break(), None),
                store(n, first + i, [0]),
            ])),
            store(y, load(n, [0]), [0]),
            While(first > 3, store(n, tirx.FloorDiv(first, 2), [0])),
            store(y, load(n, [0]), [1]),
            For(j, 0, 3, ForKind.UNROLLED, For(k, j, load(y, [1]), ForKind.SERIAL, store(y, load(y, [2]) + k, [2]))),
        ]
    )  # fmt: skip
    out = np.zeros(8, np.int32)
    text = run(kernel([y], body), out)
    total = sum(i for i in range(2, 8) if i != 4)
    small = total
    while small > 3:
        small //= 2
    assert out[:3].tolist() == [total, small, sum(k for j in range(3) for k in range(j, j + small))]
    assert "int N;" in text
    assert "for (int i = 2; i < 12; ++i) {" in text
    assert "#pragma unroll" in text
    assert "const int k_end = j + Y[1];" in text


@needs_compiler
def test_else_if_chains():
    y = buffer("Y", 8, "int32")
    body = IfThenElse(
        TX < 2,
        store(y, const(1, "int32"), [TX]),
        IfThenElse(TX < 4, store(y, const(2, "int32"), [TX]), store(y, const(3, "int32"), [TX])),
    )
    out = np.zeros(8, np.int32)
    text = run(kernel([y], body, threads=[8]), out, threads=[8])
    assert out.tolist() == [1, 1, 2, 2, 3, 3, 3, 3]
    assert "} else if (tx < 4) {" in text
    assert "} else {" in text


@needs_compiler
def test_shared_memory_registers_and_moves():
    a, y = buffer("A", 64, "float16"), buffer("Y", 64, "float16")
    s, r = buffer("tile", 64, "float16", "shared"), buffer("regs", 8, "float16", "local")
    at = lambda base, lanes=8: Ramp(base, 1, lanes)  # noqa: E731
    i = Var("i", "int32")
    body = seq(
        [
            AllocBuffer(s),
            AllocBuffer(r),
            BufferStore(s, BufferLoad(a, [at(TX * 8)]), [at(TX * 8)]),
            statement("barrier"),
            BufferStore(r, BufferLoad(s, [at(TX * 8)]), [at(0)]),
            For(i, 0, 8, ForKind.UNROLLED, store(r, load(r, [i]) + load(r, [i]), [i])),
            BufferStore(y, BufferLoad(r, [at(0)]), [at(TX * 8)]),
        ]
    )
    func = kernel([a, y], body, threads=[8], simt_shared_bytes=4096, simt_shared={"tile": 1024})
    data = np.arange(64, dtype=np.float16)
    out = np.zeros_like(data)
    text = run(func, data, out, threads=[8])
    np.testing.assert_array_equal(out, data * 2)
    assert "tc_half* tile = (tc_half*)(shared + 1024);" in text
    assert "alignas(16) tc_half regs[8];" in text
    assert "tc_move<16>(tile + tx * 8, A + tx * 8);" in text
    assert emit_module(IRModule({"k": func}), _dialect()).kernels["k"].shared_bytes == 4096


def _dialect():
    from host_kit import HOST

    return HOST


@needs_compiler
def test_views():
    a, y = buffer("A", 4, "float32"), buffer("Y", 4, "uint32")
    bits = buffer("bits", 4, "uint32")
    value, raw = buffer("one", 1, "float32", "local"), buffer("raw", 1, "uint32", "local")
    body = seq(
        [
            DeclBuffer(bits, data=tirx.buffer_data(a)),
            AllocBuffer(value),
            DeclBuffer(raw, data=tirx.buffer_data(value)),
            store(value, load(a, [TX]) * 2, [0]),
            store(y, load(bits, [TX]) + (load(raw, [0]) - load(bits, [TX])), [TX]),
        ]
    )
    data, out = np.array([1, -2, 3.5, 0], np.float32), np.zeros(4, np.uint32)
    text = run(kernel([a, y], body, threads=[4], simt_access={"A": "r"}), data, out, threads=[4])
    np.testing.assert_array_equal(out, (data * 2).view(np.uint32))
    assert "const unsigned* bits = (const unsigned*)A;" in text


@needs_compiler
def test_asynchronous_copies():
    a, y, s = buffer("A", 16), buffer("Y", 16), buffer("s", 16, scope="shared")
    place = load(a, [TX * 4])
    body = seq(
        [
            AllocBuffer(s),
            statement("copy_async", load(s, [TX * 4]), place, const(16, "int32"), TX < 3),
            statement("commit_async"),
            statement("wait_async", const(0, "int32")),
            statement("barrier"),
            BufferStore(y, BufferLoad(s, [Ramp(TX * 4, 1, 4)]), [Ramp(TX * 4, 1, 4)]),
        ]
    )
    func = kernel([a, y], body, threads=[4], simt_shared_bytes=64, simt_shared={"s": 0})
    data, out = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    text = run(func, data, out, threads=[4])
    np.testing.assert_array_equal(out, [*range(12), 0, 0, 0, 0])
    assert "tc_copy_async<16>(s + tx * 4, A + tx * 4, tx < 3);" in text
    assert "tc_wait_async<0>();" in text


@needs_compiler
def test_atomics():
    h, n, old = buffer("H", 4), buffer("N", 2, "int32"), buffer("O", 8, "int32")
    add = tile_call("atomic_element", [load(h, [TX % 4]), const(1.5, "float32"), "add", "relaxed"], dtype="float32")
    fetch = tile_call("atomic_element", [load(n, [0]), const(1, "int32"), "add", "acq_rel"], dtype="int32")
    most = tile_call("atomic_element", [load(n, [1]), TX, "max", "release"], dtype="int32")
    body = seq([Evaluate(add), store(old, fetch, [TX]), Evaluate(most)])
    sums, counts, seen = np.zeros(4, np.float32), np.zeros(2, np.int32), np.zeros(8, np.int32)
    text = run(kernel([h, n, old], body, threads=[8]), sums, counts, seen, threads=[8])
    assert sums.tolist() == [3, 3, 3, 3]
    assert counts.tolist() == [8, 7]
    assert seen.tolist() == list(range(8))
    assert "tc_atomic_add(&H[tx % 4], 1.5f);" in text
    assert "tc_atomic_add(N, 1, tc_acq_rel)" in text


def test_calls_of_threads():
    y, p = buffer("Y", 8), buffer("P", 8, "uint32")
    x = load(y, [TX])
    shuffle = call("shuffle", x, const(4, "int32"), StringImm("xor"), const(32, "int32"), dtype="float32")
    ballot = call("vote", x > const(0.0, "float32"), StringImm("ballot"), dtype="uint32")
    count = call("block_vote", TX < 3, StringImm("count"), dtype="int32")
    body = seq(
        [
            store(y, x + shuffle, [TX]),
            store(p, ballot + Cast("uint32", count), [TX]),
            statement("named_barrier", const(2, "int32"), const(64, "int32")),
            statement("warp_barrier"),
            statement("fence", StringImm("device")),
        ]
    )
    lines = body_of(source(kernel([y, p], body, threads=[64])))
    assert lines == [
        "const int tx = tc_thread[0];",
        "Y[tx] += tc_shuffle_xor(Y[tx], 4, 32);",
        "P[tx] = tc_vote_ballot(Y[tx] > 0.0f) + (unsigned)tc_block_vote_count(tx < 3);",
        "tc_named_barrier(2, 64);",
        "tc_warp_barrier();",
        "tc_fence_device();",
    ]


@needs_compiler
def test_prints_and_assertions(capfd):
    import ctypes

    y = buffer("Y", 2, "uint8")
    where = Span(SourceName("kernels/k.py"), 7, 7, 5, 9)
    body = seq(
        [
            tile_statement("print", ['100% "of" Y', load(y, [0]), const(0.5, "float32")]),
            tile_statement("device_assert", [load(y, [0]) < const(9, "uint8"), "too large"], span=where),
            store(y, const(1, "uint8"), [1]),
        ]
    )
    func = kernel([y], body)
    text = run(func, np.array([7, 0], np.uint8))
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == '100% "of" Y: 7 0.5\n'
    assert 'tc_assert(Y[0] < 9, 1, "too large");  // k.py:7' in text
    facts = emit_module(IRModule({"k": func}), _dialect()).facts()
    assert facts["k"]["attributes"]["assertions"] == ["too large (kernels/k.py:7:5)"]
    library = compiled(text)
    library.k(ctypes.c_void_p(np.array([200, 0], np.uint8).ctypes.data))
    assert ctypes.c_int.in_dll(library, "tc_failed").value == 1


def test_the_users_lines_stand_behind_the_statements():
    y = buffer("Y", 4)
    span = lambda line: Span(SourceName("/home/me/softmax.py"), line, line, 1, 2)  # noqa: E731
    body = seq([
        BufferStore(y, const(1.0, "float32"), [TX], span=span(3)),
        BufferStore(y, const(2.0, "float32"), [TX], span=span(3)),
        BufferStore(y, const(3.0, "float32"), [TX], span=span(5)),
    ])  # fmt: skip
    lines = body_of(source(kernel([y], body)))
    assert lines[1:] == ["Y[tx] = 1.0f;  // softmax.py:3", "Y[tx] = 2.0f;", "Y[tx] = 3.0f;  // softmax.py:5"]


def test_refusals_name_the_users_line():
    y = buffer("Y", 4)
    span = Span(SourceName("softmax.py"), 12, 12, 9, 20)
    ramp = Ramp(0, 1, 4)
    vector = BufferStore(y, BufferLoad(y, [ramp]) + BufferLoad(y, [ramp]), [ramp], span=span)
    with pytest.raises(UnsupportedError, match="on target host") as caught:
        source(kernel([y], vector))
    assert (caught.value.location.file, caught.value.location.line) == ("softmax.py", 12)
    local = buffer("big", Var("n", "int32"), scope="local")
    with pytest.raises(UnsupportedError, match="no constant"):
        source(kernel([y], AllocBuffer(local)))
    with pytest.raises(UnsupportedError, match="without a place"):
        source(kernel([y], AllocBuffer(buffer("s", 4, scope="shared"))))


def test_bindings_are_constants_of_their_type():
    y = buffer("Y", 64)
    row, x = Var("row", "int32"), Var("x", "float32")
    body = seq([Bind(row, BX * 4 + TX), Bind(x, load(y, [row]) * 2), store(y, x, [row + 1])])
    lines = body_of(source(kernel([y], body, threads=[4])))
    assert lines[-3:] == ["const int row = bx * 4 + tx;", "const float x = Y[row] * 2.0f;", "Y[row + 1] = x;"]


def test_several_kernels_and_a_prelude():
    y = buffer("Y", 4)
    first = kernel([y], store(y, const(1.0, "float32"), [TX])).with_attr("tile.prelude", "#define TWO 2")
    second = kernel([y], Evaluate(tirx.call_extern("int32", "twice", load(y, [0]))), simt_min_blocks=2)
    emitted = emit_module(IRModule({"one": first, "two": second}), _dialect())
    assert emitted.text.startswith('#include "tc_host.h"\n\n#define TWO 2\n\nextern "C" void one(')
    assert "twice(Y[0]);" in emitted.text
    assert emitted.facts()["two"]["attributes"]["min_blocks"] == 2


@pytest.mark.parametrize(
    ("requested", "taken_names"),
    [
        (["x", "x", "x_1", "x"], ["x", "x_1", "x_1_1", "x_2"]),
        (["for", "int", "shared"], ["for_", "int_", "shared_"]),
        (
            ["a.b", "1st", "__x", "_Up", "tc_add", "größe"],
            ["a_b", "v1st", "v__x", "v_Up", "v_tc_add", "gr__e"],
        ),
    ],
)
def test_names(requested, taken_names):
    names = Names(frozenset({"shared"}))
    assert [names.take(w) for w in requested] == taken_names


def test_the_same_kernel_gives_the_same_text():
    def make() -> PrimFunc:
        y = buffer("Y", 64)
        i = Var("i", "int32")
        return kernel([y], For(i, 0, 4, ForKind.SERIAL, store(y, load(y, [i * 16 + TX]) + 1, [i * 16 + TX])))

    assert source(make()) == source(make())


def test_a_store_is_a_hook_with_the_buffer_the_index_and_the_value():
    """For languages in which bytes share a word: a store is then more than an assignment."""

    class Emitter(SourceEmitter):
        def stored(self, memory, index, value):
            return str(self.function(f"put_{memory.dtype}_{memory.scope}", memory.name, index, value)) + ";"

    a, y = buffer("A", 64, "uint8"), buffer("Y", 64, "uint8")
    func = kernel([a, y], store(y, load(a, [TX + 1]), [TX]), threads=[64])
    text = emit_module(IRModule({"k": func}), HOST, Emitter).text
    assert "put_uint8_global(Y, tx, A[tx + 1]);" in text
    assert "Y[tx] = A[tx + 1];" in source(func)


WRONG_TEXTS = {
    "stored": ("str", None, "a str, the emitted text"),
    "kernel_head": ("str", ["head"], "a str, the emitted text"),
    "access": ("Text", None, "a Text, the emitted text with its precedence"),
    "load_value": ("Text", 3, "a Text, the emitted text with its precedence"),
}


@pytest.mark.parametrize("method", WRONG_TEXTS)
def test_a_method_of_a_backends_emitter_that_returns_no_text_is_named(method):
    _, wrong_text, expected = WRONG_TEXTS[method]
    emitter = type("AcmeEmitter", (SourceEmitter,), {method: lambda self, *args: wrong_text})
    a, y = buffer("A", 64), buffer("Y", 64)
    func = kernel([a, y], store(y, load(a, [TX + 1]), [TX]), threads=[64])
    with pytest.raises(PluginError, match=rf"AcmeEmitter\.{method} returned a wrong value") as caught:
        emit_module(IRModule({"k": func}), HOST, emitter)
    assert (caught.value.found, caught.value.expected) == (repr(wrong_text), expected)


def test_a_function_of_a_dialect_that_returns_no_text_is_named():
    y = buffer("Y", 64)
    func = kernel(
        [y], store(y, thread_call(SHUFFLE, [load(y, [TX]), 1, "xor", 32], dtype="float32"), [TX]), threads=[64]
    )
    dialects = {
        r"Dialect\.values\['simt\.shuffle'\]": replace(HOST, values={SHUFFLE: lambda emitter, node: None}),
        r"Dialect\.head": replace(HOST, head=lambda head: None),
    }
    for name, dialect in dialects.items():
        with pytest.raises(PluginError, match=f"{name} returned a wrong value"):
            emit_module(IRModule({"k": func}), dialect)
