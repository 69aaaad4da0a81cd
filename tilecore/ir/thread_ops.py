"""Registers the calls of thread IR that are tilecore's own, and builds them. thread_calls.py has their facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.build import as_operand
from tilecore.ir.nodes import Call, Evaluate, Span
from tilecore.ir.register_call import register_call
from tilecore.ir.thread_calls import ADDRESS, DIRECTED, ROUNDED, THREAD_CALLS

for _call in THREAD_CALLS.values():
    if _call.is_simt or _call.name in (ROUNDED, DIRECTED, ADDRESS):  # tile_ops.py registers the other calls of tilecore
        register_call(_call.name, pure=_call.pure)


def thread_call(name: str, args: Sequence[Any] = (), *, dtype: str = "void", span: Span | None = None) -> Call:
    """A call of thread IR; Python ints and strings become immediates. dtype: of its value."""
    return Call(THREAD_CALLS[name].name, [as_operand(arg) for arg in args], ret_ty=dtype, span=span)


def thread_statement(name: str, args: Sequence[Any] = (), *, span: Span | None = None) -> Evaluate:
    """A call of thread IR that stands alone."""
    return Evaluate(thread_call(name, args), span=span)
