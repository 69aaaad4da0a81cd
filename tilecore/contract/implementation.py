"""Defines implementations of tile operations, and chooses the one of highest priority that applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.contract.alternatives import instead_of
from tilecore.errors import UnsupportedError
from tilecore.ir.spans import location_of_span

if TYPE_CHECKING:
    from tilecore.contract.passes import PassEnv
    from tilecore.contract.state import PassState
    from tilecore.ir.nodes import Stmt
    from tilecore.ir.tile_ops import TileCall

SHARED = "shared"  # in place of a fragment layout: the operand must be in shared memory


@dataclass(frozen=True)
class TileOpImpl:
    """An implementation of a tile operation.

    op: the operation's name without prefix. matches: returns None when the implementation applies, else the reason why
    it declines. layouts: the layouts that it needs for shared operands ({buffer: layout}). lower: returns the statement
    that implements the operation. priority: the highest that applies is taken. needs_layouts: whether results are
    wrong without ``layouts``. late: whether it is lowered after the inference of fragment layouts, into the code of one
    thread (families with threads only). fragments: for a late one, {buffer: fragment layout} of the operands whose
    layout it fixes, or SHARED for an operand that must be in shared memory; its last argument is the number of threads
    of the block. relate: for a late one, layouts of operands that follow from known layouts of other operands.
    last_resort: whether it applies where faster implementations of a target decline. in_place: the names of the
    operands that it reads from a tensor in global memory as fast as from a copy; the call has the tensor for the
    operand; with "c" where that tensor has a narrower type than the sums (the hint CallAttr.SUMS), to which it rounds
    them as it stores them. copies_in_passing: the names of those that it copies itself from a tensor while it reads
    them for the first time; of B it copies all rows of some columns before it stores to these columns of C. needs,
    leaves: the classes of state (tilecore/contract/state.py) that its functions read, and those that they add to.
    """

    op: str
    name: str
    lower: Callable[[TileCall, Any], Stmt]  # Any: a PassEnv; for a late one a ThreadEnv (lowering/simt/thread_env.py)
    matches: Callable[[TileCall, PassEnv], str | None] = lambda call, env: None
    priority: int = 0
    needs_layouts: bool = False
    layouts: Callable[[TileCall, PassEnv], dict[Any, Any]] = field(default=lambda call, env: {})
    late: bool = False
    fragments: Callable[[TileCall, PassEnv, int], dict[Any, Any]] = field(default=lambda call, env, threads: {})
    relate: Callable[[TileCall, dict[Any, Any]], dict[Any, Any]] = field(default=lambda call, layouts: {})
    last_resort: bool = False
    in_place: Callable[[TileCall, PassEnv], frozenset[str]] = field(default=lambda call, env: frozenset())
    needs: tuple[type[PassState], ...] = ()
    leaves: tuple[type[PassState], ...] = ()
    copies_in_passing: Callable[[TileCall, PassEnv], frozenset[str]] = field(default=lambda call, env: frozenset())


@dataclass(frozen=True)
class Choice:
    """An operation, its implementation, and (name, reason) of each implementation of higher priority that declined."""

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
    reasons = "; ".join(f"{name}: {reason_text}" for name, reason_text in declined)
    from tilecore.ir.tile_ops import name_in_language  # not with the module: plugins are loaded without TVM

    name = name_in_language(call)
    raise UnsupportedError(
        f"{name} has no implementation on target {env.target.brief()}",
        location=location_of_span(call.span),
        found=reasons or "the target implements none",
        expected="an operation that one of its implementations supports"
        if reasons
        else f"an operation that {env.target.kind} has",
        hint=f"change the kernel so that {declined[-1][0]!r} applies, which has the fewest conditions"
        if declined
        else instead_of(call.op.name),
    )
