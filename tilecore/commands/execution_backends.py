"""Checks the execution backend that a command is told to use, before the work begins."""

from __future__ import annotations

from typing import get_args

from tilecore.errors import TargetError
from tilecore.jit.execution_names import ExecutionBackend, is_usual_name
from tilecore.plugins import manager


def check_execution_backend(target: str, name: str | None) -> None:
    """Raise a TargetError for a target that no package offers, and for an execution backend that the target does not
    have. name: of the execution backend; None for the default one."""
    backend, resolved = manager.resolve(target)
    if name is None or name in backend.adapters or is_usual_name(name, backend.adapters):
        return
    raise TargetError(
        f"--execution-backend: target {resolved.kind!r} has no execution backend {name!r}",
        found=f"--execution-backend {name}",
        expected=", ".join(dict.fromkeys([*backend.adapters, *get_args(ExecutionBackend)])),
        hint="leave out --execution-backend for the default one",
    )
