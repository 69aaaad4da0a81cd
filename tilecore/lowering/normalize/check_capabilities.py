"""Checks that the target has the capabilities that a kernel needs: types, memory scopes, tile operations, features.

Capabilities of a kind that the target does not declare (an empty set) are not checked.
"""

from __future__ import annotations

from collections.abc import Collection

from tilecore.contract.alternatives import instead_of, instead_of_feature
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import nearest_types
from tilecore.errors import UnsupportedError
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.analysis.needs import (
    ATOMIC,
    CONVERSION,
    COUNTER,
    FEATURE,
    OPERATION,
    ORDER,
    SCOPE,
    TYPE,
    Need,
    needs,
)


def check_capabilities(func: PrimFunc, env: PassEnv) -> None:
    """Refuse every buffer and operation that the target does not have."""
    refused: set[tuple[str, object]] = set()  # their consequences are not reported again
    for need in needs(func):
        if any(reason in refused for reason in _reasons(need)) or need.is_met(env.capabilities):
            continue
        refused.add((need.kind, need.name if need.kind == TYPE else need.where))
        env.refuse(_refusal(need, env))


def _reasons(need: Need) -> list[tuple[str, object]]:
    """The refusals of which this refusal would be a consequence."""
    if need.subject in (CONVERSION, COUNTER):
        return [(TYPE, need.name)]
    if need.kind == FEATURE:
        return [(OPERATION, need.where)]
    if need.kind == ATOMIC:
        return [(OPERATION, need.where), (FEATURE, need.where), (TYPE, need.name)]
    return [(OPERATION, need.where), (FEATURE, need.where)] if need.kind == ORDER else []


def _refusal(need: Need, env: PassEnv) -> UnsupportedError:
    target, declared = f"target {env.target.kind}", need.declared(env.capabilities)
    makers = {TYPE: _type, SCOPE: _scope, OPERATION: _operation, FEATURE: _feature, ORDER: _order, ATOMIC: _atomic}
    message, hint = makers[need.kind](need, target, declared)
    expected = _expected(need, declared)
    return UnsupportedError(message, location=need.where(), found=need.name, expected=expected, hint=hint)


def _type(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    near = nearest_types(need.name, supported)
    hint = f"the nearest: {', '.join(near)}; T.copy converts" if near else None
    return f"{need.subject} {need.name}, which {target} does not have", hint


def _scope(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    return (
        f"{need.subject} is in memory of scope {need.name!r}, which {target} does not have",
        _other_scope(need.name, supported),
    )


def _operation(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    return f"{need.subject} is not among the tile operations of {target}", instead_of(need.name)


def _feature(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    messages = {
        "dynamic_shapes": f"{need.subject} has sizes of the call, and {target} compiles kernels of fixed sizes",
        "source": f"{need.subject} is for targets that compile source text, which {target} does not",
    }
    return messages.get(need.name, f"{need.subject} is not supported by {target}"), instead_of_feature(need.name)


def _order(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    """A default memory order counts like a written one, so that no order is weakened silently."""
    hint = (
        'write memory_order="relaxed" where the operation orders no other accesses: the writes of a block are visible '
        "to its threads after a barrier, and to other blocks in the next T.Kernel"
    )
    return (
        f"{need.subject} has the memory order {need.name!r}, which atomic operations of {target} do not have",
        hint if "relaxed" in supported else None,
    )


def _atomic(need: Need, target: str, supported: Collection[str]) -> tuple[str, str | None]:
    near = nearest_types(need.name, supported)
    hint = (
        f"the nearest: {', '.join(near)}; or add up in a second kernel what each block has computed" if near else None
    )
    return f"{need.subject} changes an element of {need.name}, of which {target} has no such operation", hint


def _other_scope(scope: str, scopes: Collection[str]) -> str | None:
    makers = {"shared": "T.alloc_shared", "local.fragment": "T.alloc_fragment", "local": "T.alloc_local"}
    others = [maker for name, maker in makers.items() if name in scopes and not scope.startswith(name)]
    return f"allocate it with {' or '.join(others)}" if others else "read and write the tensors themselves"


def _expected(need: Need, declared: Collection[str]) -> str:
    """What would do instead. Of operations and features, a list of the others would not help who needs this one."""
    kind = {OPERATION: "tile operation", FEATURE: "feature"}.get(need.kind)
    return f"a target that has the {kind} {need.name!r}" if kind else "one of " + ", ".join(sorted(declared))
