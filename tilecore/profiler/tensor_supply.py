"""``get_tensor_supply``: a function that makes the tensor of a kernel's parameter, for ``supply_prog`` of the
autotuner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.profiler.supply import TensorSupplyType, supply

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.runtime.params import KernelParam


def get_tensor_supply(supply_type: TensorSupplyType = TensorSupplyType.Integer) -> Callable[[KernelParam], Any]:
    """A function of a kernel's parameter (``kernel.params[i]``) that returns a tensor of its shape and element type,
    filled as ``supply_type`` says, where kernels of the default target take it: a torch tensor, or a numpy array
    without torch.

    The function raises ArgumentError for a shape or a scalar that is known at the call only.
    """

    def make(param: KernelParam) -> Any:
        return supply(param.record, _adapter(), {}, supply_type)

    return make


def _adapter() -> KernelAdapter:
    """The first execution backend of the default target that works here."""
    from tilecore.plugins import manager

    backend, target = manager.use_default()
    adapters = list(backend.adapters.values())
    return next((adapter for adapter in adapters if adapter.available(target).present), adapters[0])
