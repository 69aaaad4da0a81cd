"""The IR of a kernel just before and just after one pass of this backend, as functions and as text."""

from __future__ import annotations

import re
from difflib import ndiff
from textwrap import dedent
from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.ir.nodes import IRModule
from tilecore.lowering.edits import edited
from tilecore.lowering.normalize.contract_sums import CONTRACT_SUMS
from tilecore.lowering.pipeline import family_steps
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager

HOPPER = "cuda -arch=sm_90a"
AMPERE = "cuda -arch=sm_80"
_LEFT_OUT = re.compile(r"= T\.launch_thread\(|^ *T\.func_attr\(|^ *thread\w* = T\.int32\(\)$")


def around_pass(
    func: Any, name: str, target: str = HOPPER, config: dict[str, Any] | None = None
) -> tuple[Any, Any, PassEnv]:
    """The function, or the module of kernels, before and after the pass ``name``, and the environment of the passes."""
    backend, resolved = manager.resolve(target)
    capabilities = backend.target.capabilities(resolved)
    env = PassEnv(resolved, capabilities, implementations_of(backend), config=config or {})
    family = family_steps(backend.lowering.family)
    current = func.ir
    for step in [CONTRACT_SUMS, *edited(family, backend.lowering.edits, backend, backend.target.contract)]:
        after = step.run(current, env)
        if step.name == name:
            return current, after, env
        current = after
    raise ValueError(f"target {target} has no pass {name}")


def before_and_after(func: Any, name: str, target: str = HOPPER, **options: Any) -> tuple[str, str]:
    """The text of the kernel before and after the pass ``name``."""
    before, after, _ = around_pass(func, name, target, **options)
    return text(before), text(after)


def notes(env: PassEnv, topic: str = "notes") -> list[dict[str, Any]]:
    """What the passes told ``kernel.explain()`` of a topic."""
    return [dict(row) for row in env.report.get(topic, ())]


def text(func: Any) -> str:
    """The statements of a function as text, without its signature, its grid and its threads."""
    if isinstance(func, IRModule):
        return "\n".join(text(kernel) for kernel in func.functions.values())
    script = func.script().splitlines()
    (start,) = (number for number, line in enumerate(script) if line.startswith("def "))
    return dedent("\n".join(line for line in script[start + 1 :] if not _LEFT_OUT.search(line))).strip()


def lines(code: str) -> str:
    """An expected text, written as an indented block in a test."""
    return dedent(code).strip()


def changes(before: Any, after: Any) -> str:
    """The lines that a pass removed (``- ``) and added (``+ ``), in order, each without its indent."""
    pairs = ndiff(text(before).splitlines(), text(after).splitlines())
    return "\n".join(f"{line[0]} {line[2:].strip()}" for line in pairs if line[0] in "+-")
