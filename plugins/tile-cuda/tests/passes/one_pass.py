"""The IR of a kernel just before and just after one pass of this backend, as functions and as text."""

from __future__ import annotations

from difflib import ndiff
from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.lowering.pipeline import passes_of
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager
from tilecore.testing.kernel_text import text
from tilecore.transform import PassConfigKey

HOPPER = "cuda -arch=sm_90a"
AMPERE = "cuda -arch=sm_80"


def around_pass(
    func: Any, name: str, target: str = HOPPER, config: dict[str, Any] | None = None
) -> tuple[Any, Any, PassEnv]:
    """The function, or the module of kernels, before and after the pass ``name``, and the environment of the passes.

    Loops have num_stages slots, unless ``config`` says otherwise.
    """
    config = {PassConfigKey.TL_DISABLE_MORE_STAGES.value: True, **(config or {})}
    backend, resolved = manager.resolve(target)
    capabilities = backend.target.capabilities(resolved)
    env = PassEnv(resolved, capabilities, implementations_of(backend), config=config)
    current = func.ir
    for step in passes_of(backend):
        after = step.run(current, env)
        if step.name == name:
            return current, after, env
        current = after
    raise ValueError(f"target {target} has no pass {name}")


def notes(env: PassEnv, topic: str = "notes") -> list[dict[str, Any]]:
    """The notes of the passes on a topic for ``kernel.explain()``."""
    return [dict(row) for row in env.report.get(topic, ())]


def changes(before: Any, after: Any) -> str:
    """The lines that a pass removed (``- ``) and added (``+ ``), in order, each without its indent."""
    pairs = ndiff(text(before).splitlines(), text(after).splitlines())
    return "\n".join(f"{line[0]} {line[2:].strip()}" for line in pairs if line[0] in "+-")
