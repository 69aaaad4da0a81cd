"""The code of one thread, as the SIMT family makes it, run by the interpreter: lowering without any code generator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.interpreter import interpret
from tilecore.ir.build import nothing, op_name
from tilecore.ir.nodes import Evaluate, structural_map
from tilecore.ir.thread_calls import SIMT
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS, STEPS
from tilecore.plugins import manager

NAME = "thread-code"
LEFT_OUT = ("lower_allreduce",)  # the interpreter reduces across threads itself
LAST = "insert_barriers"  # what follows is no longer tile IR


def lowered(func: Any) -> tuple[Any, PassEnv]:
    """The thread code of a T.prim_func, and what the passes report."""
    backend, target = manager.resolve("cpu")
    env = PassEnv(target, backend.target.capabilities(target), IMPLEMENTATIONS)
    current = func.ir
    for step in STEPS:
        if isinstance(step, Pass) and step.name not in LEFT_OUT:
            current = step.run(current, env)
            if step.name == LAST:
                break
    return current, env


class Kernel:
    """A kernel whose calls are interpreted, thread by thread."""

    def __init__(self, func: Any) -> None:
        self.func, _ = lowered(func)
        self.params = [SimpleNamespace(name=str(p.name)) for p in func.ir.params]

    def __call__(self, *args: Any) -> None:
        interpret(_without_groups(self.func), *args)


def _without_groups(func: Any) -> Any:
    """Asynchronous copies are plain ones to the interpreter: there is nothing to wait for."""

    def drop(node: Evaluate) -> Any:
        return nothing() if op_name(node.value).startswith(SIMT) else node

    return func.with_body(structural_map(func.body, (Evaluate, drop)))
