"""The simulated device: runs emitted SIMT source on the host and catches what is wrong in it.

``SimulatedDevice`` compiles and runs kernels; ``SimulatedAdapter`` is the execution backend that a plugin makes of it;
``SimulationError`` says what went wrong and where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.simulate.adapter import SimulatedAdapter
    from tilecore.simulate.device import SimulatedDevice
    from tilecore.simulate.errors import SimulationError

_HOMES = {"SimulatedAdapter": "adapter", "SimulatedDevice": "device", "SimulationError": "errors"}
__all__ = ["SimulatedAdapter", "SimulatedDevice", "SimulationError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
