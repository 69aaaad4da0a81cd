"""Hooks of the emitter that the sample emitter leaves alone: operators by type, prints, addresses, empty blocks."""

from __future__ import annotations

from host_kit import HOST, buffer, kernel

from tilecore.codegen.c_source import emit_module
from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.codegen.text import Text, call
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import const, load, nothing, seq, store
from tilecore.ir.nodes import AllocBuffer, IfThenElse, IRModule, Var, tirx
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_ops import tile_statement

X, Y = buffer("X", 64), buffer("Y", 64, "int32")
N = Var("n", "int32")


class Emitter(SourceEmitter):
    """Another language: functions for operators by type, no pointers, prints of other words, lines in blocks."""

    comment = "#"
    block_start, block_end, otherwise = ":", "", "else:"

    def typed_binary(self, symbol, level, a, b, dtype):
        return call(f"{dtype}{symbol}", a, b)

    def pointer(self, memory, index):
        return Text(f"{memory.name}@{index}")

    def reference(self, element):
        return Text(f"ref {element}")

    def quoted(self, message):
        return f"<{message}>"

    def printed(self, dtype, value):
        return f"[{dtype}]", value

    def print_statement(self, pieces):
        return "print " + "|".join(piece if isinstance(piece, str) else f"{piece[0]}{piece[1]}" for piece in pieces)

    def empty_block(self):
        return "pass"


def emitted(body, emitter=Emitter):
    return emit_module(IRModule({"k": kernel([X, Y, N], body)}), HOST, emitter).text


def test_operators_get_the_type_in_which_they_compute():
    zero = const(0, "int32")
    body = seq(
        [
            store(X, load(X, [zero]) * load(X, [N]), [N]),
            store(Y, load(Y, [zero]) & load(Y, [N]), [N]),
            IfThenElse(tirx.And(load(X, [zero]) < load(X, [N]), N > 3), store(Y, zero, [zero]), None),
        ]
    )
    text = emitted(body)
    assert "float32*(X[0], X[n])" in text
    assert "int32&(Y[0], Y[n])" in text
    assert "bool&&(float32<(X[0], X[n]), int32" in text


def test_an_emitter_that_overrides_binary_alone_still_does():
    class Former(SourceEmitter):
        def binary(self, symbol, level, a, b):
            return call(f"op{symbol}", a, b)

    zero = const(0, "int32")
    assert "op*(X[0], X[n])" in emitted(store(X, load(X, [zero]) * load(X, [N]), [N]), Former)


def test_a_block_without_statements_has_its_line():
    text = emitted(IfThenElse(N > 3, nothing(), None))
    assert "):\n    pass" in text
    assert "}" not in text
    assert "{\n  }" in emitted(IfThenElse(N > 3, nothing(), None), SourceEmitter)
    assert emitted(nothing()).endswith(":\n  pass\n")


def test_prints_and_assertions_are_written_by_hooks():
    values = [N, load(X, [const(0, "int32")])]
    line = tile_statement("print", ["100% of X[{}]", *values], hints={CallAttr.INDICES_PRINTED: 1})
    assertion = tile_statement("device_assert", [N > 3, "n is small"])
    text = emitted(seq([line, assertion]))
    assert "print 100% of X[|[int32]n|]|: |[float32]X[0]|\n" in text
    assert "tc_assert(int32>(n, 3), 1, <n is small>);" in text
    assert r'tc_print("100%% of X[%lld]: %g\n", (long long)n, (double)X[0]);' in emitted(line, SourceEmitter)


def test_addresses_are_written_by_hooks():
    Z = buffer("Z", 64, scope="shared")
    copy = thread_statement("simt.copy_async", [load(Z, [N]), load(X, [N]), const(4, "int32"), const(True, "bool")])
    func = kernel([X, Y, N], seq([AllocBuffer(Z), copy]), simt_shared={"Z": 0}, simt_shared_bytes=256)
    text = emit_module(IRModule({"k": func}), HOST, Emitter).text
    assert "tc_copy_async<4>(Z@n, X@n, true)" in text
