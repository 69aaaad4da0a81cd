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
        moved = [_to_device(arg, device) for arg in args]
        result = kernel(*moved)
        self.kernel.adapter.synchronize()
        for arg, tensor in zip(args, moved, strict=True):
            if isinstance(arg, torch.Tensor):
                arg.copy_(tensor)
            elif isinstance(arg, np.ndarray) and arg.flags.writeable:
                _raw(arg)[...] = tensor.view(_bits(arg)).cpu().numpy()
        return _back(result)


def ready(kernel: Any) -> Any:
    """A kernel that takes arrays."""
    return kernel if runs_on_host(kernel) else OnDevice(kernel)


def bare(kernel: Any) -> Any:
    """The kernel itself, which takes tensors of its device."""
    return kernel.kernel if isinstance(kernel, OnDevice) else kernel


def placed(kernel: Any, arg: Any) -> Any:
    """An argument as the bare kernel takes it: arrays as they are on the host, else copied to the device."""
    return _to_device(arg, kernel.adapter.torch_device()) if isinstance(kernel, OnDevice) else arg


def read(value: Any) -> np.ndarray:
    """A tensor of float32 or integers, of wherever, as an array."""
    return value if isinstance(value, np.ndarray) else value.cpu().numpy()


def runs_on_host(kernel: Any) -> bool:
    return device_of(kernel.backend, kernel.adapter) == HOST


def device_of(backend: Any, adapter: Any) -> int:
    """DLPack's type of the device whose tensors an execution backend takes."""
    return backend.target.device if adapter.device is None else adapter.device


def _raw(array: np.ndarray) -> np.ndarray:
    """The same memory as signed integers."""
    return array.view(f"int{array.dtype.itemsize * 8}")


def _bits(array: np.ndarray) -> Any:
    import torch

    return getattr(torch, f"int{array.dtype.itemsize * 8}")


def _to_device(arg: Any, device: str) -> Any:
    """An array or a tensor of the host as one of the device, with the same strides; other arguments as they are."""
    import torch

    if isinstance(arg, torch.Tensor):
        return arg.to(device)
    if not isinstance(arg, np.ndarray):
        return arg
    if not arg.size:
        return torch.empty(arg.shape, dtype=getattr(torch, str(arg.dtype)), device=device)
    raw = _raw(arg)
    if 0 in arg.strides:  # one element for many: there too
        once = raw[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in arg.strides)]
        return _typed(torch.from_numpy(once.copy()).to(device), arg).expand(arg.shape)
    host = torch.from_numpy(raw if arg.flags.writeable else raw.copy())
    tensor = torch.empty_strided(host.shape, host.stride(), dtype=host.dtype, device=device)
    return _typed(tensor.copy_(host), arg)


def _typed(tensor: Any, array: np.ndarray) -> Any:
    import torch

    return tensor.view(getattr(torch, str(array.dtype)))


def _back(result: Any) -> Any:
    import torch

    if isinstance(result, torch.Tensor):
        return result.cpu()
    return type(result)(_back(part) for part in result) if isinstance(result, (list, tuple)) else result
