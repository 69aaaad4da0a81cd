"""Binds the index of a warp's warpgroup once, at the start of its code, as a value that is known to be uniform.

Values that are computed from it then stay in uniform registers, where matrix descriptors have to be.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.role_statements import with_consumer
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name, seq
from tilecore.ir.nodes import AttrStmt, Bind, Call, PrimFunc, Stmt, Var, structural_map, structural_mutate
from tilecore.ir.thread_ranges import has_ranges, range_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel


def bind_warpgroup_index(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(each_kernel(func.body, _with_index))


def _with_index(body: Stmt, threads: Threads) -> Stmt:
    if not any(op_name(call) == instructions.UNIFORM for call in collect(body, Call)):
        return body
    if has_ranges(body):
        return _bind_in_ranges(body)
    return with_consumer(body, _bind_index)


def _bind_in_ranges(body: Stmt) -> Stmt:
    """Binds the index at the start of the code of each range of threads."""

    def ranged(node: AttrStmt, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        is_used = any(op_name(call) == instructions.UNIFORM for call in collect(changed, Call))
        if range_of(node) is None or not is_used:
            return changed
        return AttrStmt(node.node, node.attr_key, node.value, _bind_index(changed.body), span=node.span)

    return structural_mutate(body, [(AttrStmt, ranged)])


def _bind_index(body: Stmt) -> Stmt:
    group = Var("group", "int32")
    calls = [call for call in collect(body, Call) if op_name(call) == instructions.UNIFORM]
    changed = structural_map(body, (Call, lambda call: group if op_name(call) == instructions.UNIFORM else call))
    return seq([Bind(group, calls[0]), changed])


BIND_WARPGROUP_INDEX = Pass("bind_warpgroup_index", bind_warpgroup_index)
