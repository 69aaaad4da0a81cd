"""A simulator of SophGo's tensor processors: runs the emitted C on the host and catches what is wrong in it.

``SimulatedTpu`` runs kernels, ``compile_kernel`` makes what it runs, ``Report`` says what a run cost,
``TpuSimulationError`` what went wrong and where. README.md beside this file says what is modelled.
"""

from __future__ import annotations

from tile_tpu.simulate.arguments import Tensor
from tile_tpu.simulate.build import KernelLibrary, compile_kernel
from tile_tpu.simulate.device import SimulatedTpu
from tile_tpu.simulate.errors import TpuSimulationError
from tile_tpu.simulate.report import Report

__all__ = ["KernelLibrary", "Report", "SimulatedTpu", "Tensor", "TpuSimulationError", "compile_kernel"]
