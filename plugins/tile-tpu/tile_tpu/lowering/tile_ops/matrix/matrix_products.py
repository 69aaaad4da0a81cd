"""A product of two tiles that is added to a third one, also where the matrix unit can only overwrite its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of
from tilecore.ir.build import constant, seq
from tilecore.ir.nodes import IfThenElse, Stmt

_BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class Product:
    """``total += left @ right``, or ``-=`` with ``minus``; all views are aligned. transposed: ``right`` is (N, K).
    adds: 0, 1 or an expression: whether the product is added to ``total`` or replaces it."""

    total: View
    left: View
    right: View
    transposed: bool
    adds: Any
    minus: bool = False


def multiply(work: Work, product: Product) -> None:
    name = "mm_nt" if product.transposed else "mm"
    total, adds = product.total, product.adds
    if constant(adds) == 0 or (not product.minus and _adds_itself(work, product)):
        assert not product.minus
        work.emit(name, total, product.left, product.right, adds)
        return
    product_view = work.room(constant_shape_of(total), total.dtype, "product")
    work.emit(name, product_view, product.left, product.right, 0)
    add_or_put(work, total, product_view, adds, "sub" if product.minus else "add")


def add_or_put(work: Work, total: View, value: View, adds: Any, name: str = "add") -> None:
    """Adds ``value`` to ``total`` with the instruction ``name`` where ``adds`` (0, 1 or an expression), else copies
    it."""
    with work.inner() as added:
        work.emit(name, total, total, value)
    with work.inner() as copied:
        work.emit("copy", total, value)
    only_if(work, adds, added, copied)


def _adds_itself(work: Work, product: Product) -> bool:
    """Whether the unit adds this product to its result.

    Products with a transposed right operand do so for floats on chips of the newer runtime only (the form with a
    bias). Sums of products of unsigned bytes are kept from going below 0 (measured on the vendor's CModel).
    """
    if product.left.dtype in _BYTES:
        return not product.transposed and product.left.dtype == "int8"
    return not product.transposed or work.chip.runtime == "tpurt"


def only_if(work: Work, condition: Any, then: list[Stmt], other: list[Stmt] | None = None) -> None:
    """Emits one branch where the condition is a constant, else both under an ``if``."""
    constant_condition = constant(condition)
    if constant_condition is None:
        work.add(IfThenElse(condition, seq(then), seq(other) if other else None, span=work.span))
        return
    for statement in then if constant_condition else other or []:
        work.add(statement)
