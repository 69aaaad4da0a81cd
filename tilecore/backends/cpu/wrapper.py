"""Carries LLVM IR text through TVM: a thin function per kernel that calls it, with the text linked in.

TVM keeps no linked-in function of its own right (it is inlined and dropped), and its functions return nothing but 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.nodes import (
    AttrStmt,
    Evaluate,
    IRModule,
    PointerType,
    PrimFunc,
    PrimType,
    Return,
    SeqStmt,
    Var,
    tirx,
    tvm,
)


def wrap(source: str, symbols: Sequence[str], target: Any) -> IRModule:
    """A TVM module whose functions are the kernels of ``source``."""
    text = source
    for symbol in symbols:
        text = text.replace(f"@{symbol}(", f"@{symbol}__body(")
    functions = {}
    for number, symbol in enumerate(symbols):
        functions[symbol] = _caller(symbol, text if number == 0 else None, target)
    return IRModule(functions)


def _caller(symbol: str, text: str | None, target: Any) -> PrimFunc:
    pointer = PointerType(PrimType("int64"))
    params = [Var("slots", pointer), Var("begin", "int64"), Var("end", "int64"), Var("scratch", pointer)]
    call = tirx.call_extern("void", f"{symbol}__body", *params)
    body: Any = SeqStmt([Evaluate(call), Return(tirx.const(0, "int32"))])
    if text is not None:
        note = AttrStmt(
            tirx.const(0, "int32"), "pragma_import_llvm", tvm.ir.StringImm(text), Evaluate(tirx.const(0, "int32"))
        )
        body = SeqStmt([note, body])
    func = PrimFunc(params, body, ret_type=PrimType("int32"))
    return func.with_attr("global_symbol", symbol).with_attr("calling_conv", 0).with_attr("target", target)
