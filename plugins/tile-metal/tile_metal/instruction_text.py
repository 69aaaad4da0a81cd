"""The MSL text of calls of thread IR that stand alone and have no function of the header's usual name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.codegen.statements import Statements
from tilecore.ir.thread_calls import COMMIT_ASYNC, NAMED_BARRIER, WAIT_ASYNC


def _no_wait(emit: Statements, node: Any) -> None:
    """Emits nothing for a wait: copies to threadgroup memory are loads and stores."""


def _refuse_named_barrier(emit: Statements, node: Any) -> None:
    from tilecore.codegen.refusal import refuse

    refuse(node, "metal", "a threadgroup has one barrier, of all its threads: use T.sync_threads")


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    COMMIT_ASYNC: _no_wait,
    WAIT_ASYNC: _no_wait,
    NAMED_BARRIER: _refuse_named_barrier,
}
