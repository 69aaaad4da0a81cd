"""Which execution backends of a target run kernels of it with its attributes: some are for certain attributes only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.errors import TargetError

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.contract.records import Backend
    from tilecore.target import Target


def suitable_names(backend: Backend, target: Target) -> list[str]:
    """The names of the execution backends that run kernels of ``target``, in the order in which "auto" tries them."""
    return [name for name, adapter in backend.adapters.items() if _runs(adapter, target)]


def _runs(adapter: KernelAdapter, target: Target) -> bool:
    try:
        adapter.target(target)
    except TargetError:
        return False
    return True
