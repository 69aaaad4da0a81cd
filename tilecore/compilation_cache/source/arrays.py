"""Describes arrays and tensors that a function reads while its kernel is built, by their contents."""

from __future__ import annotations

import sys
from typing import Any

MOST_BYTES = 1 << 20


def array_contents(value: Any) -> tuple[str, tuple[int, ...], bytes] | None:
    """(element type, shape, bytes in row-major order) of a numpy array or a torch tensor of the host.

    None for anything else, and for those that are not plain numbers or larger than MOST_BYTES. Imports neither package.
    """
    kind = type(value)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and kind is numpy.ndarray:
        if value.dtype.hasobject or value.dtype.fields is not None or value.nbytes > MOST_BYTES:
            return None
        return f"{value.dtype.name}:{value.dtype.str}", value.shape, value.tobytes()
    if torch is not None and kind is getattr(torch, "Tensor", None):
        plain = value.device.type == "cpu" and value.layout is torch.strided and not value.is_quantized
        if not plain or value.requires_grad or value.nbytes > MOST_BYTES:
            return None
        dense = value.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
        return str(value.dtype), tuple(value.shape), dense.numpy().tobytes()
    return None
