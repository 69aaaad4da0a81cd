"""Defines the calls in expressions that are specific to tilecore, besides the tile operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.nodes import Call, Expr, Op
from tilecore.ir.thread_calls import ADDRESS, DIRECTED, ROUNDED
from tilecore.ir.thread_ops import thread_call


def is_nan(value: Any) -> Expr:
    """Is ``value`` (a float; a vector: lane by lane) not a number? The ``isnan`` of thread IR, as T.isnan makes it, for
    lowering to write in place of ``value != value``, which compilers that assume finite numbers drop."""
    lanes = dtype_of(value).partition("x")[2]
    return Call(
        Op.get("tirx.isnan"), [value], attrs={CallAttr.COMPARED: 1}, ret_ty=f"boolx{lanes}" if lanes else "bool"
    )


def rounded(value: Any) -> Expr:
    """``value`` kept apart: a product in it does not become part of a fused multiply-add with a sum around it."""
    return thread_call(ROUNDED, [value], dtype=dtype_of(value))


def directed(mode: str, operation: str, operands: Sequence[Any]) -> Expr:
    """``operation`` ("add", "fma", ...) of floats of one type, rounded once: "rz" towards zero, "ru" up, "rd" down."""
    return thread_call(DIRECTED, [mode, operation, *operands], dtype=dtype_of(operands[0]))


def address(element: Any, access: str) -> Expr:
    """A pointer to ``element`` (a load), through which a function reads, writes or both."""
    return thread_call(ADDRESS, [element, access], dtype="handle")


def as_address(node: Any) -> tuple[Any, str] | None:
    """The element and the access of a call that :func:`address` makes; None for anything else."""
    if not isinstance(node, Call) or op_name(node) != ADDRESS:
        return None
    element, access = node.args
    return element, str(access.value)
