"""What the user declares of an operation besides its kernel: a gradient, and rules for autocast and vmap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.errors import ArgumentError


@dataclass(frozen=True)
class TorchOpRules:
    """The rules of an operation of torch.

    backward: computes the gradients of the arguments. A kernel whose parameters are named after the operation's (see
    :class:`~tilecore.torch_ops.gradients.KernelGradient`), or a function ``backward(ctx, *gradients)`` as that of a
    torch.autograd.Function. setup_context: ``setup_context(ctx, inputs, output)``, what the function needs later; left
    out, ``ctx.saved_tensors`` has the tensors among the arguments and then the results.
    autocast: the dtype that floating-point arguments are cast to under torch.autocast, for the kernel's device; or a
    mapping from types of devices to dtypes.
    vmap: "loop" (the kernel runs once for each element of the mapped axis), or a function
    ``vmap(info, in_dims, *args) -> (results, out_dims)`` as torch.library.register_vmap takes it. Left out, it is the
    loop, with a VmapWarning.
    """

    backward: Any = None
    setup_context: Callable[..., None] | None = None
    autocast: Any = None
    vmap: Any = None

    def __post_init__(self) -> None:
        if self.backward is not None and not callable(self.backward):
            raise _wrong("backward", self.backward, "a kernel, or a function backward(ctx, *gradients)")
        if self.setup_context is not None and (not callable(self.setup_context) or is_kernel(self.backward)):
            raise _wrong(
                "setup_context", self.setup_context, "a function (ctx, inputs, output), beside a backward in Python"
            )
        if self.setup_context is not None and self.backward is None:
            raise _wrong("setup_context", self.setup_context, "None where there is no backward")
        if self.vmap is not None and self.vmap != "loop" and not callable(self.vmap):
            raise _wrong("vmap", self.vmap, '"loop", or a function vmap(info, in_dims, *args)')

    def autocast_dtypes(self, device: str) -> Mapping[str, Any]:
        """The dtype by type of device. device: the type of the kernel's device."""
        import torch

        if self.autocast is None:
            return {}
        dtypes = self.autocast if isinstance(self.autocast, Mapping) else {device: self.autocast}
        for kind, dtype in dtypes.items():
            if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point or not isinstance(kind, str):
                raise _wrong(
                    "autocast",
                    self.autocast,
                    f"a dtype of floating point, or a mapping such as {{{device!r}: torch.float16}}",
                )
        return dtypes


def is_kernel(backward: Any) -> bool:
    """Is it a compiled kernel?"""
    return hasattr(backward, "artifact")


def require_function(backward: Any) -> None:
    """Raises ArgumentError for what makes kernels and is called as a function: it is compiled first."""
    if hasattr(backward, "ir") or hasattr(backward, "compile"):
        name = getattr(backward, "__name__", "backward")
        raise ArgumentError(
            f"torch_op(): backward={name} is not compiled",
            found=type(backward).__name__,
            expected="a compiled kernel whose results are the gradients, or a function backward(ctx, *gradients)",
            hint=f"{name}.compile(...)"
            if hasattr(backward, "compile")
            else f"tilecore.compile({name}, target=..., out_idx=...)",
        )


def _wrong(name: str, value: Any, expected: str) -> ArgumentError:
    return ArgumentError(f"torch_op(): {name} cannot be this", found=repr(value), expected=expected)
