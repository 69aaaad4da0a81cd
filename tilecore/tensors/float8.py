"""Facts about torch tensors of 8-bit floats."""

from __future__ import annotations

from typing import Any


def is_float8_dtype(dtype: Any) -> bool:
    """Whether a torch dtype is an 8-bit float: torch.float8_e4m3fn and the others."""
    return str(dtype).startswith("torch.float8_")


def fp8_remove_negative_zeros_(tensor: Any) -> Any:
    """Replace every -0 of a torch tensor of 8-bit floats by +0, in place; returns the tensor."""
    import torch

    if not is_float8_dtype(tensor.dtype):
        raise TypeError(f"fp8_remove_negative_zeros_ takes a tensor of 8-bit floats, not of {tensor.dtype}")
    tensor.view(torch.uint8)[tensor.to(torch.float32) == 0] = 0
    return tensor
