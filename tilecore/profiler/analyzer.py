"""Counts the work of a kernel: the operations of its products and the bytes that its copies move in global memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import UnsupportedError
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import For, PrimFunc, Stmt, TensorRegion
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import children
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.profiler.tile_device import TileDevice


@dataclass(frozen=True)
class AnalysisResult:
    """The work of all blocks of a kernel.

    total_flops: of its products (T.gemm), two for each multiply-add. total_global_bytes: read and written in global
    memory by T.copy. estimated_time: in seconds, the longer of both at the device's peak; None where the device gives
    neither. expected_tflops, expected_bandwidth_GBps: the device's peaks; None and 0.0 where they are not known.
    """

    total_flops: int
    total_global_bytes: int
    estimated_time: float | None
    expected_tflops: float | None
    expected_bandwidth_GBps: float


class Analyzer:
    """Analyzes kernels: ``Analyzer.analysis(function, device)``.

    fn: a T.prim_func, or an IRModule of one. device: a TileDevice (``tilecore.carver.arch``). Conditions are taken to
    hold, and a ``while`` to run once; a loop whose length is known at the call only raises UnsupportedError.
    """

    def __init__(self, fn: Any, device: TileDevice) -> None:
        self.fn = fn
        self.device = device
        self.total_flops = 0
        self.total_global_bytes = 0

    @classmethod
    def analysis(cls, fn: Any, device: TileDevice) -> AnalysisResult:
        """The work of a kernel, and how long it takes at least on the device."""
        return cls(fn, device).ir_pass().calculate()

    def ir_pass(self) -> Analyzer:
        """Count the work of every function; returns the analyzer."""
        self.total_flops = self.total_global_bytes = 0
        ir = getattr(self.fn, "ir", self.fn)  # of a T.prim_func
        functions = [ir] if isinstance(ir, PrimFunc) else list(ir.functions.values())
        for function in functions:
            self._count(function.body, 1)
        return self

    def calculate(self) -> AnalysisResult:
        """What was counted, with the time that the device's peaks allow."""
        bandwidth = self.device.bandwidth[1] / 1000
        tflops: float | None = getattr(self.device, "peak_tflops", None)
        times = [self.total_global_bytes / (bandwidth * 1e9)] if bandwidth else []
        times += [self.total_flops / (tflops * 1e12)] if tflops else []
        return AnalysisResult(
            self.total_flops, self.total_global_bytes, max(times) if times else None, tflops, bandwidth
        )

    def _count(self, node: Stmt, times: int) -> None:
        call = as_tile_call(node)
        if call is not None:
            self._count_call(call, times)
            return
        if isinstance(node, For):
            times *= _known(node.extent, "a loop", node)
        elif is_axis(node) and str(node.node.thread_tag).startswith("blockIdx"):
            times *= _known(node.value, "a grid", node)
        for inner in children(node):
            self._count(inner, times)

    def _count_call(self, call: TileCall, times: int) -> None:
        if call.op.name == "gemm":
            elements = prod(_elements(region) for region in call.regions[:3])  # of [M, K], [K, N] and [M, N]
            self.total_flops += 2 * isqrt(elements) * times
        elif call.op.name in ("copy", "async_copy"):
            for region in call.regions:
                if str(region.source.scope()) in ("global", ""):
                    bits = DType(dtype_of(region.source)).bits
                    self.total_global_bytes += _elements(region) * bits // 8 * times


def _elements(region: TensorRegion) -> int:
    return prod(_known(part.extent, f"a tile of {region.source.name}", region) for part in region.region)


def _known(size: Any, what: str, node: Any) -> int:
    value = constant(size)
    if value is None:
        raise UnsupportedError(
            f"the size of {what} is known at the call only", found=str(size), expected="constant sizes to analyze"
        )
    return value
