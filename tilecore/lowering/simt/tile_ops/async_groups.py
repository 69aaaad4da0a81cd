"""Implements T.ptx_commit_group and T.ptx_wait_group: the groups of asynchronous copies that a thread has started."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import constant
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.analysis.asynchronous import commit, wait


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if str(call.key) == KernelHint.ASYNC_GROUP else "it is no group of asynchronous copies"


def lower(call: TileCall, env: PassEnv) -> Stmt:
    if str(call.rest[0].value) == "commit":
        return commit()
    return wait(int(constant(call.rest[1]) or 0))


ASYNC_GROUPS = TileOpImpl("annotate", "groups of copies", lower, matches, priority=10, late=True)
IMPLEMENTATIONS = (ASYNC_GROUPS,)
