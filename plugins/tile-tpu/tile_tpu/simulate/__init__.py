"""A simulator of SophGo's tensor processors, which runs the emitted C on the host and detects errors in it.

``compile_kernel`` compiles kernels for it, and ``SimulatedTpu`` runs them. ``Report`` has the costs of a run, and
``TpuSimulationError`` the error of one, with its place. README.md in this folder describes what is modelled.
"""

from __future__ import annotations

from tile_tpu.simulate.arguments import Tensor
from tile_tpu.simulate.build import KernelLibrary, compile_kernel
from tile_tpu.simulate.device import SimulatedTpu
from tile_tpu.simulate.errors import TpuSimulationError
from tile_tpu.simulate.report import Report

__all__ = ["KernelLibrary", "Report", "SimulatedTpu", "Tensor", "TpuSimulationError", "compile_kernel"]
