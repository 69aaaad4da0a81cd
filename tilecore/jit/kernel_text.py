"""Writes kernels of tile IR for messages: ``scale(A: float32[64, 32], factor: float32)``."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import is_buffer_var


def parameters_text(func: Any) -> str:
    """A kernel of tile IR with its parameters."""
    texts = []
    for param in func.params:
        shape = f"[{', '.join(map(str, param.shape))}]" if is_buffer_var(param) else ""
        texts.append(f"{param.name}: {param.dtype if shape else dtype_of(param)}{shape}")
    return f"{func.attrs['global_symbol']}({', '.join(texts)})"
