"""No name in emitted source is a reserved word of the language, or stands for two things."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from host_kit import HOST, TX, buffer, kernel

from tilecore.codegen.c_source import emit_module
from tilecore.codegen.names import Names
from tilecore.ir.build import load, seq, store
from tilecore.ir.nodes import AllocBuffer, Bind, Call, Evaluate, For, ForKind, IRModule, StringImm, Var

WORDS = ("float", "kernel", "thread", "vec4", "main", "kernel_", "float_", "vec4_1", "helper", "_")
OWN = replace(HOST, reserved=frozenset({"kernel", "kernel_", "thread", "thread_1", "vec4", "vec4_", "_", "__"}))


def emitted(*names: str, symbol: str = "k", **attributes: str):
    """A kernel whose parameter, scalar, shared and local buffers, variable and loop have these names."""
    tensor, scalar, shared, local, bound, loop = (names * 6)[:6]
    x, n = buffer(tensor, 64), Var(scalar, "int32")
    tile, registers = buffer(shared, 64, scope="shared"), buffer(local, 4, scope="local")
    value, i = Var(bound, "float32"), Var(loop, "int32")
    call = Evaluate(Call("tirx.call_extern", [StringImm("helper"), n], ret_ty="void"))
    body = seq(
        [
            AllocBuffer(tile),
            AllocBuffer(registers),
            For(i, 0, 4, ForKind.SERIAL, store(registers, load(x, [i]), [i])),
            Bind(value, load(registers, [0])),
            store(tile, value, [TX]),
            store(x, load(tile, [TX + n]), [TX]),
            call,
        ]
    )
    facts = {"simt_shared_bytes": 256, "simt_shared": {shared: 0}, **attributes}
    return emit_module(IRModule({symbol: kernel([x, n], body, threads=[64], **facts)}), OWN)


DECLARED = (
    r"(?:const int |float\* (?:__restrict__ )?|const float |float |for \(int |, int )([A-Za-z_]\w*)(?= =|\[|,|\))"
)


@pytest.mark.parametrize("word", WORDS)
def test_no_kind_of_name_takes_a_reserved_word(word):
    text = emitted(word).text
    declared = re.findall(DECLARED, text)
    assert len(declared) == 7, text
    assert len(set(declared)) == len(declared)
    assert not set(declared) & {*OWN.reserved, "float", "main", "helper", "tc_arena", "k"}


def test_macros_of_the_users_source_are_no_names():
    text = emitted("TILE", "n", "rows", "x", "y", "z", tile_prelude="#define TILE 4\n  # define rows(x) x\n").text
    declared = re.findall(DECLARED, text)
    assert len(declared) == 7, text
    assert not set(declared) & {"TILE", "rows"}


def test_different_names_that_become_one_stay_apart():
    declared = re.findall(DECLARED, emitted("float", "float_", "float__1", "kernel", "kernel_", "kernel__").text)
    assert len(set(declared)) == 7


@pytest.mark.parametrize("symbol", ["float", "kernel", "main", "größe_kernel"])
def test_kernels_with_reserved_symbols_have_other_names_which_their_entries_tell(symbol):
    module = emitted("x", symbol=symbol)
    name = module.facts()[symbol]["symbol"]
    assert name.isascii()
    assert name not in {*OWN.reserved, "float", "main"}
    assert f'extern "C" void {name}(' in module.text


def test_the_next_name_is_not_reserved_either():
    names = Names(frozenset({"a_1", "b", "b_"}))
    assert [names.take(name) for name in ("a", "a", "b", "b", "b__")] == ["a", "a_2", "b__", "b___1", "b___2"]
