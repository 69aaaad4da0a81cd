"""Defines the calls of asynchronous copies: a thread starts copies, commits them as a group, and waits for groups."""

from __future__ import annotations

from tilecore.ir.nodes import Stmt
from tilecore.ir.thread_calls import COMMIT_ASYNC, WAIT_ASYNC
from tilecore.ir.thread_ops import thread_statement

ASYNC_NEST = 2  # value of the attribute "simt.nest": the nest's copies may be asynchronous; 1: they may not


def commit() -> Stmt:
    """``simt.commit_async``: the copies that the thread has started since the last commit become one group."""
    return thread_statement(COMMIT_ASYNC)


def wait(groups: int) -> Stmt:
    """``simt.wait_async``: the thread waits until all of its groups but the last ``groups`` have completed."""
    return thread_statement(WAIT_ASYNC, [groups])
