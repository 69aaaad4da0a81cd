"""Defines the rule of contraction: which sums with a product are rounded once, as a fused multiply-add.

``x * y + z``, ``z + x * y``, ``x * y - z`` and ``z - x * y`` become ``fma`` where exactly one of the two operands is a
product (a negated product is one too) and both are in one expression. The value of a variable has been rounded already,
and the sum or the difference of two products rounds both of them, so that ``x * y - y * x`` is 0. All calls of ``fma``
are created by this rule, and the interpreter and every target execute them: docs/language.md, "What it means".
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.nodes import (
    Add,
    Broadcast,
    BufferStore,
    Call,
    Expr,
    FloatImm,
    Mul,
    PrimFunc,
    Stmt,
    Sub,
    TensorLoad,
    structural_equal,
    structural_map,
)
from tilecore.ir.tile_ops import hints_of
from tilecore.ir.visit import variables

FUSED = ("float64", "float32", "float16", "bfloat16")


def contracted(func: PrimFunc) -> PrimFunc:
    """The function with its fused multiply-adds.

    Sums that accumulate into a reducer stay sums: the pass that partitions the reducer contracts them later.
    """
    reducers = {call.rest[0].source for call in hints_of(func.body, KernelHint.REDUCER)}

    def keep_sum(node: BufferStore) -> BufferStore:
        if node.buffer not in reducers or not is_fma(node.value) or not _reads_own_element(node):
            return node
        return BufferStore(node.buffer, separated(node.value), node.indices, span=node.span)

    body = structural_map(func.body, [((Add, Sub), contract), (BufferStore, keep_sum)])
    return func if body.same_as(func.body) else func.with_body(body)


def contract_stores(body: Stmt, buffers: Any) -> Stmt:
    """The body with the sums that it stores to ``buffers`` contracted."""

    def change(node: BufferStore) -> BufferStore:
        if node.buffer not in buffers:
            return node
        return BufferStore(node.buffer, contract(node.value), node.indices, span=node.span)

    return body if not buffers else structural_map(body, (BufferStore, change))


def contract(node: Any) -> Any:
    """A sum or a difference as one ``fma``, if the rule contracts it; any other expression unchanged."""
    if not isinstance(node, (Add, Sub)) or dtype_of(node) not in FUSED:
        return node
    left, right = _product(node.a), _product(node.b)
    if (left is None) == (right is None):
        return node
    if left is not None:
        term = node.b if isinstance(node, Add) else negative(node.b)
        return fma(*left, term, node.span)
    assert right is not None
    x, y = right
    return fma(x if isinstance(node, Add) else negative(x), y, node.a, node.span)


def contract_products(node: Any) -> Any:
    """A sum or a difference of two products as one ``fma``; any other expression unchanged.

    The product with fewer variables is rounded, and added to the other. The language rounds both: this is for targets
    whose user asked for fast mathematics.
    """
    if not isinstance(node, (Add, Sub)) or dtype_of(node) not in FUSED:
        return node
    left, right = _product(node.a), _product(node.b)
    if left is None or right is None:
        return node
    if len(variables(node.b)) <= len(variables(node.a)):
        return fma(*left, node.b if isinstance(node, Add) else negative(node.b), node.span)
    x, y = right
    return fma(x if isinstance(node, Add) else negative(x), y, node.a, node.span)


def fma(x: Expr, y: Expr, z: Expr, span: Any = None) -> Expr:
    """``x * y + z``, rounded once: floats of one type."""
    return Call("tirx.fma", [x, y, z], ret_ty=dtype_of(z), span=span)


def multiplied_into(total: Expr, x: Expr, y: Expr) -> Expr:
    """``total + x * y`` as a step of a sum of products: one ``fma`` of floats, a plain sum of integers."""
    return fma(x, y, total) if dtype_of(total) in FUSED else total + x * y


def is_fma(node: Any) -> bool:
    """Is the expression a fused multiply-add?"""
    return op_name(node) == "fma"


def separated(node: Any) -> Expr:
    """The sum or difference with a product that an ``fma`` contracts, for analyses of sums and targets without fma."""
    x, y, z = node.args
    bare = negated(x)
    if bare is not None:
        return Sub(z, Mul(bare, y), span=node.span)
    bare = negated(z)
    if bare is not None:
        return Sub(Mul(x, y), bare, span=node.span)
    return Add(Mul(x, y), z, span=node.span)


def negative(value: Expr) -> Expr:
    """``-value`` of a float, exactly, as the operator of the language makes it."""
    bare = negated(value)
    if bare is not None:
        return bare
    kind = dtype_of(value)
    return FloatImm(kind, -value.value) if isinstance(value, FloatImm) else Mul(value, FloatImm(kind, -1.0))


def negated(value: Any) -> Any:
    """The operand x of a negation ``-x`` of a float or a vector of floats; None for any other expression."""
    if not isinstance(value, Mul):
        return None
    by = value.b.value if isinstance(value.b, Broadcast) else value.b
    return value.a if isinstance(by, FloatImm) and by.value == -1.0 else None


def _product(node: Any) -> tuple[Expr, Expr] | None:
    """The factors of a product or of a negated product; None for any other expression."""
    bare = negated(node)
    if bare is None:
        return (node.a, node.b) if isinstance(node, Mul) else None
    inner = _product(bare)
    return None if inner is None else (negative(inner[0]), inner[1])


def _reads_own_element(node: BufferStore) -> bool:
    """Is the store of the form ``r[i] = ... + r[i]``?"""
    term = node.value.args[2]
    if not isinstance(term, TensorLoad) or not term.source.same_as(node.buffer):
        return False
    pairs = zip(term.indices, node.indices, strict=True)
    return all(structural_equal(load_index, store_index, map_free_vars=False) for load_index, store_index in pairs)
