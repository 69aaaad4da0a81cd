"""Defines the calls of asynchronous copies: a thread starts copies, commits them as a group, and waits for groups."""

from __future__ import annotations

from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import constant, with_body
from tilecore.ir.nodes import For, ForKind, Stmt
from tilecore.ir.thread_calls import COMMIT_ASYNC, WAIT_ASYNC
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.visit import substitute

ASYNC_NEST = 2  # value of the attribute "simt.nest": the nest's copies may be asynchronous; 1: they may not


def async_copy_of(loop: For) -> For | None:
    """The loop over the elements that one thread copies by T.ptx_cp_async; None for other loops. A vectorized loop
    around copies of one element each is one loop over all of them."""
    if LoopAttr.ASYNC in loop.annotations and loop.kind == ForKind.VECTORIZED:
        return loop
    inner = loop.body
    if loop.kind != ForKind.VECTORIZED or not isinstance(inner, For) or constant(inner.extent) != 1:
        return None
    copy = async_copy_of(inner)
    return None if copy is None else with_body(loop, substitute(copy.body, {copy.loop_var: copy.min}))


def commit() -> Stmt:
    """``simt.commit_async``: the copies that the thread has started since the last commit become one group."""
    return thread_statement(COMMIT_ASYNC)


def wait(groups: int) -> Stmt:
    """``simt.wait_async``: the thread waits until all of its groups but the last ``groups`` have completed."""
    return thread_statement(WAIT_ASYNC, [groups])
