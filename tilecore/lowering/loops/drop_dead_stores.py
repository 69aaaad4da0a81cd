"""Leaves out the stores of a loop to a buffer that nothing reads behind it: the statement behind the store, which alone
reads the element, computes with the value itself. LLVM does so only for elements that never leave a register."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
    structural_map,
)
from tilecore.ir.scopes import is_global, is_total
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables

NARROWEST = 32  # bits of an element whose value is the same in memory and in a register


def drop_dead_stores(func: PrimFunc, env: PassEnv) -> PrimFunc:
    roots = memory_roots(func.body)
    dropped: list[str] = []

    def block(node: SeqStmt) -> Any:
        parts = list(node.seq)
        for part in parts:
            if isinstance(part, AllocBuffer) and _is_of_the_block(part.buffer, roots):
                changed = _without_last_stores(parts, part.buffer)
                if changed is not None:
                    position, statement = changed
                    parts[position] = statement
                    dropped.append(str(part.buffer.name))
        return seq(parts)

    body = structural_map(func.body, (SeqStmt, block))
    if dropped:
        env.note("dead stores", {"buffers": sorted(dropped)})
    return func.with_body(body)


def _is_of_the_block(buffer: Var, roots: dict[Var, Var]) -> bool:
    facts = FACTS.get(dtype_of(buffer))  # None of vector types
    exact = facts is not None and facts.bits >= NARROWEST and facts.kind != "bool"
    return exact and buffer not in roots and not is_global(buffer) and not is_total(buffer)


def _without_last_stores(parts: list[Stmt], buffer: Var) -> tuple[int, Stmt] | None:
    """The position of the last statement of the block that uses the buffer, and the statement without its store to it;
    None where the store is needed, or there is none."""
    users = [
        number for number, part in enumerate(parts) if not isinstance(part, AllocBuffer) and buffer in variables(part)
    ]
    if not users:
        return None
    statement = parts[users[-1]]
    nest, body = _nest(statement)
    if not nest:
        return None
    inner = statements_of(body)
    stores = [
        number for number, part in enumerate(inner) if isinstance(part, BufferStore) and part.buffer.same_as(buffer)
    ]
    if len(stores) != 1 or not _elements_differ(inner[stores[0]], nest):
        return None
    rest = _with_value(inner, stores[0])
    return None if rest is None else (users[-1], _rebuilt(nest, seq(rest)))


def _nest(statement: Stmt) -> tuple[list[For], Stmt]:
    """The loops of a perfect nest, outermost first, and the body of the innermost."""
    loops: list[For] = []
    while isinstance(statement, For):
        loops.append(statement)
        statement = statement.body
    return loops, statement


def _rebuilt(nest: list[For], body: Stmt) -> Stmt:
    for node in reversed(nest):
        body = with_body(node, body)
    return body


def _elements_differ(store: BufferStore, nest: list[For]) -> bool:
    """Does each iteration store an element of its own? Each loop's variable must be an index by itself."""
    return all(
        constant(node.extent) == 1
        or any(isinstance(index, Var) and index.same_as(node.loop_var) for index in store.indices)
        for node in nest
    )


def _with_value(inner: list[Stmt], position: int) -> list[Stmt] | None:
    """The statements of the body without the store, with its value where the next one reads the element; None where
    another element is read, or another statement reads this one."""
    store = inner[position]
    buffer = store.buffer
    if effect_in(store.value) is not None:
        return None  # the next statement may read the element under a condition only
    accesses = [node for part in inner for node in collect(part, TensorLoad) if node.source.same_as(buffer)]
    if not all(_is_same_element(node, store) for node in accesses):
        return None
    behind = inner[position + 1 :]
    following, *others = behind or [None]
    if not isinstance(following, BufferStore) or any(buffer in variables(part) for part in others):
        return None
    reads = [node for node in collect(following, TensorLoad) if node.source.same_as(buffer)]
    in_value = [node for node in collect(following.value, TensorLoad) if node.source.same_as(buffer)]
    if len(reads) != 1 or len(in_value) != 1 or not _names_only_elements(inner, store, len(accesses) + 1):
        return None

    def change(node: Any) -> Any:
        return store.value if node.source.same_as(buffer) else node

    value = structural_map(following.value, (TensorLoad, change))
    replaced = BufferStore(following.buffer, value, following.indices, span=following.span)
    return [*inner[:position], replaced, *others]


def _is_same_element(node: Any, store: BufferStore) -> bool:
    return len(node.indices) == len(store.indices) and all(map(structural_equal, node.indices, store.indices))


def _names_only_elements(inner: list[Stmt], store: BufferStore, accesses: int) -> bool:
    """Is the buffer named by these loads and the store alone, and not as the operand of a call?"""
    return sum(var.same_as(store.buffer) for part in inner for var in collect(part, Var)) == accesses


DROP_DEAD_STORES = Pass("drop_dead_stores", drop_dead_stores)
