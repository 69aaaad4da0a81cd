"""Runs the demo: each case is compiled, checked against its reference, and timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import tilecore
from tilecore.demo.arrays import Arrays
from tilecore.demo.cases import Case, cases
from tilecore.errors import LimitError, TilecoreError
from tilecore.profiler import do_bench

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel

Phase = Callable[[str], None]


@dataclass
class Result:
    """What one case gave. Times in milliseconds; None where it did not come so far.

    from_cache: nothing was compiled. includes_loading: the compiler had to be imported first (once a process).
    max_error: largest absolute difference from the reference. allowed: the largest that is accepted. error: why the
    kernel could not be compiled or run.
    """

    name: str
    size: str
    compile_ms: float | None = None
    from_cache: bool = False
    includes_loading: bool = False
    run_ms: float | None = None
    reference_ms: float | None = None
    max_error: float | None = None
    allowed: float | None = None
    ok: bool = False
    error: str | None = None


class Demo:
    """The demo on one target: iterate over it to get a Result a case.

    target: "auto", a name with attributes, or a tilecore.Target. is_slow: whether kernels run on a simulator or in the
    interpreter; their sizes are small then. Raises TargetError, PluginError.
    """

    def __init__(self, target: Any = None, quick: bool = False, torch: bool | None = None) -> None:
        from tilecore.jit.request import make_request

        request = make_request(target=target)
        self.target = request.target
        self.device = request.backend.target.detect().detail
        adapter = request.backend.adapters.get(request.adapter)  # None: the interpreter, which runs on the host
        self.is_slow = adapter is None or adapter.largest_run() is not None
        self.quick = quick or self.is_slow
        self.cases = cases(self.quick)
        self.arrays = Arrays("cpu" if adapter is None else adapter.torch_device(), torch)

    def load_compiler(self) -> float | None:
        """Import TVM where it is sure to be needed (an empty cache); returns milliseconds, or None if it was not.

        Otherwise the first kernel that is not in the cache imports it.
        """
        from tilecore import cache

        stats = cache.stats()
        if "tvm" in sys.modules or (stats.enabled and stats.entries):
            return None
        start = time.perf_counter()
        import tilecore.ir.nodes  # noqa: F401

        return (time.perf_counter() - start) * 1e3

    def results(self, phase: Phase = lambda name: None) -> Iterator[Result]:
        """Run the cases in order. phase: called with what is being done, for a progress display."""
        for case in self.cases:
            yield self.run(case, phase)

    def run(self, case: Case, phase: Phase = lambda name: None) -> Result:
        """Compile, check and time one case."""
        result = Result(case.name, case.size)
        try:
            self._run(case, result, phase)
        except TilecoreError as error:
            result.error = str(error)
        except Exception as error:
            result.error = f"{type(error).__name__}: {error}"
        return result

    def compile(self, case: Case) -> JITKernel:
        """The kernel of a case; with its smaller tiles where those by default exceed a limit of the device."""
        compiled = tilecore.jit(case.kernel.func, target=self.target)
        try:
            return compiled(**case.values)
        except LimitError:
            if not case.smaller_tiles:
                raise
            return compiled(**case.values, **case.smaller_tiles)

    def _run(self, case: Case, result: Result, phase: Phase) -> None:
        phase("compiling")
        loaded = "tvm" in sys.modules
        start = time.perf_counter()
        kernel = self.compile(case)
        result.compile_ms = (time.perf_counter() - start) * 1e3
        result.from_cache = kernel.from_cache
        result.includes_loading = not loaded and "tvm" in sys.modules
        phase("checking")
        inputs = [self.arrays.place(array) for array in case.make_inputs()]
        output = self.arrays.place(np.zeros(case.output, dtype=np.float32))
        reference = self.arrays.reference(case)
        kernel(*inputs, output)
        self._check(case, result, self.arrays.fetch(output), self.arrays.fetch(reference(*inputs)))
        phase("timing")
        result.run_ms = self._median_ms(lambda: kernel(*inputs, output), kernel)
        phase("timing the reference")
        result.reference_ms = self._median_ms(lambda: reference(*inputs), kernel)

    def _median_ms(self, call: Callable[[], Any], kernel: JITKernel) -> float:
        """Median over about 0.2 s on the kernel's device, its data where the call before left it."""
        few = 3 if self.is_slow else None
        times = do_bench(call, 20, 200, fast_flush=False, return_mode="median", kernel=kernel, max_calls=few)
        assert isinstance(times, float)
        return times

    @staticmethod
    def _check(case: Case, result: Result, actual: np.ndarray, expected: np.ndarray) -> None:
        result.max_error = float(np.abs(actual - expected).max())
        result.allowed = case.tolerance * float(np.abs(expected).max())
        result.ok = result.max_error <= result.allowed  # not so when either is NaN
