"""The device of torch that programs use, and the processors of this process."""

from __future__ import annotations

import os
from typing import Any


def get_current_device() -> Any:
    """The torch.device that is current where torch has an accelerator, else the processor's."""
    import torch

    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        return torch.device(accelerator.current_accelerator().type, accelerator.current_device_index())
    return torch.device("cpu")


def device_synchronize() -> None:
    """Wait until the current device has done all work; nothing to wait for on the processor."""
    import torch

    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        accelerator.synchronize()


def get_available_cpu_count() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
