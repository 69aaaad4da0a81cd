"""Kernels of targets with memory of their own, called with numpy arrays: copied there before a call and back after."""

from __future__ import annotations

from typing import Any

import numpy as np

HOST = 1  # DLPack's device type


class OnDevice:
    """A kernel whose arrays are copied to the device, with their strides, and back."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __call__(self, *args: Any) -> Any:
        return self._call(self.kernel, args)

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args: self._call(self.kernel[grid], args)

    def _call(self, kernel: Any, args: Any) -> Any:
        import torch

        device = self.kernel.adapter.torch_device()
        moved = [_there(arg, device) if isinstance(arg, np.ndarray) else arg for arg in args]
        result = kernel(*moved)
        torch.cuda.synchronize()
        for arg, tensor in zip(args, moved, strict=True):
            if isinstance(arg, np.ndarray) and arg.flags.writeable:
                _raw(arg)[...] = tensor.view(_bits(arg)).cpu().numpy()
        return result


def runs_on_host(kernel: Any) -> bool:
    return kernel.adapter.device == HOST


def _raw(array: np.ndarray) -> np.ndarray:
    """The same memory as signed integers."""
    return array.view(f"int{array.dtype.itemsize * 8}")


def _bits(array: np.ndarray) -> Any:
    import torch

    return getattr(torch, f"int{array.dtype.itemsize * 8}")


def _there(array: np.ndarray, device: str) -> Any:
    import torch

    host = torch.from_numpy(_raw(array) if array.flags.writeable else _raw(array).copy())
    tensor = torch.empty_strided(host.shape, host.stride(), dtype=host.dtype, device=device)
    return tensor.copy_(host).view(getattr(torch, str(array.dtype)))
