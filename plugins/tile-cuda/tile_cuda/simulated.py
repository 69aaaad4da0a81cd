"""The execution backend ``sim``: the emitted source on the host, by tilecore's simulated device."""

from __future__ import annotations

import importlib.util

from tilecore.runtime.adapter import KernelAdapter

NAME = "sim"
FORMAT = "simulation"  # of its binaries: the source itself


def simulated_adapter() -> KernelAdapter | None:
    """The adapter, or None while this tilecore has no simulated device."""
    if importlib.util.find_spec("tilecore.simulate") is None:
        return None
    from tile_cuda.toolchain import INCLUDE
    from tilecore.simulate.adapter import SimulatedAdapter

    return SimulatedAdapter(INCLUDE, name=NAME)
