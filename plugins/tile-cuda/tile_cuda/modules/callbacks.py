"""Functions of users that change the emitted CUDA C++ before it is compiled."""

from __future__ import annotations

from typing import Any

from tilecore.codegen import source_callbacks


def register_cuda_postproc(func: source_callbacks.SourceCallback, override: bool = True) -> Any:
    """Let ``func(source, target)`` change the source of every kernel for the target ``cuda``; returns ``func``."""
    return source_callbacks.register_postproc("cuda", func, override)


def register_cuda_postproc_callback(func: Any = None, override: bool = True) -> Any:
    """The same as a decorator: ``@register_cuda_postproc_callback``, also called with ``override``."""
    return source_callbacks.register_postproc_callback("cuda", func, override)
