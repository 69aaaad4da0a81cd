"""Implementations of tile operations: they compete, and the best one whose predicates hold is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.contract.alternatives import instead_of
from tilecore.errors import UnsupportedError
from tilecore.ir.spans import location_of_span

if TYPE_CHECKING:
    from tilecore.contract.passes import PassEnv
    from tilecore.ir.nodes import Stmt
    from tilecore.ir.tile_ops import TileCall

SHARED = "shared"  # instead of a layout: the operand must be in shared memory


@dataclass(frozen=True)
class TileOpImpl:
    """One way to carry out a tile operation.

    op: name without prefix. matches: None when it applies, else the reason why it declines. layouts: the layouts that
    it wants for operands ({buffer: layout}). lower: the statement that does it. priority: the highest that fits wins.
    needs_layouts: it gives wrong results without them. late: it is lowered when the layouts of fragments are known and
    the code is that of one thread (families with threads only). fragments: for a late one, {buffer: its layout} of the
    operands that it wants to lie in its own way, or SHARED for one that must be in shared memory; the last argument is
    the number of threads. relate: for a late one, what it can say of an operand's layout once it knows others'.
    last_resort: it takes what faster ones decline, where a target has such.
    """

    op: str
    name: str
    lower: Callable[[TileCall, PassEnv], Stmt]
    matches: Callable[[TileCall, PassEnv], str | None] = lambda call, env: None
    priority: int = 0
    needs_layouts: bool = False
    layouts: Callable[[TileCall, PassEnv], dict[Any, Any]] = field(default=lambda call, env: {})
    late: bool = False
    fragments: Callable[[TileCall, PassEnv, int], dict[Any, Any]] = field(default=lambda call, env, threads: {})
    relate: Callable[[TileCall, dict[Any, Any]], dict[Any, Any]] = field(default=lambda call, known: {})
    last_resort: bool = False


@dataclass(frozen=True)
class Choice:
    """An operation, the implementation taken, and why each better one declined."""

    call: TileCall
    impl: TileOpImpl
    declined: tuple[tuple[str, str], ...]


def choose(call: TileCall, candidates: Sequence[TileOpImpl], env: PassEnv) -> Choice:
    """The implementation of highest priority that matches; an UnsupportedError lists all reasons when none does."""
    declined: list[tuple[str, str]] = []
    named = [impl for impl in candidates if impl.op == call.op.name]
    for impl in sorted(named, key=lambda i: -i.priority):
        reason = impl.matches(call, env)
        if reason is None:
            return Choice(call, impl, tuple(declined))
        declined.append((impl.name, reason))
    reasons = "; ".join(f"{name}: {why}" for name, why in declined)
    from tilecore.ir.tile_ops import name_in_language  # not with the module: plugins are loaded without TVM

    name = name_in_language(call)
    raise UnsupportedError(
        f"{name} has no implementation on target {env.target}",
        location=location_of_span(call.span),
        found=reasons or "the target implements none",
        expected="what one of its implementations takes" if reasons else f"an operation that {env.target.kind} has",
        hint=f"change what {declined[-1][0]!r} declines, which asks for least"
        if declined
        else instead_of(call.op.name),
    )
