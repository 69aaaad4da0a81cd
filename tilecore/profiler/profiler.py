"""Defines Profiler, which runs, checks and times one kernel on inputs that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import evaluate
from tilecore.caller import keywords_checked, refuse_unknown
from tilecore.errors import ArgumentError
from tilecore.profiler.bench import Mode, do_bench
from tilecore.profiler.clocks import HOST
from tilecore.profiler.compare import Tolerance, assert_close
from tilecore.profiler.rotation import rotating
from tilecore.profiler.runs import check, outputs_of, pairs, run
from tilecore.profiler.supply import TensorSupplyType, known_sizes, sizes_of, supply
from tilecore.signatures import keywords_of

if TYPE_CHECKING:
    from tilecore.artifact.records import Param
    from tilecore.jit.kernel import JITKernel
    from tilecore.profiler.roofline import Roofline
    from tilecore.runtime.params import KernelParam

Constraints = Mapping[str, int] | None


class Profiler:
    """Runs, checks and times a kernel.

    supply_type: what generated inputs are filled with. Every method that makes inputs takes
    ``dynamic_symbolic_constraints``: values of the sizes that are known only at a call (and of scalar parameters).
    """

    @keywords_checked
    def __init__(
        self, kernel: JITKernel, supply_type: TensorSupplyType = TensorSupplyType.Auto, device_index: int = 0
    ) -> None:
        self.kernel = kernel
        self.supply_type = supply_type
        self.device_index = device_index
        self.adapter: Callable[..., Any] = kernel

    @property
    def params(self) -> tuple[KernelParam, ...]:
        """The kernel's parameters, outputs included."""
        return self.kernel.params

    @property
    def result_idx(self) -> list[int]:
        """Positions of the parameters that a call allocates."""
        return self.kernel.out_idx

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is run: the kernel, or the function passed to with_default_adapter."""
        return self.adapter

    def with_default_adapter(self, adapter: Callable[..., Any]) -> Profiler:
        """Run ``adapter`` in the kernel's place; returns self."""
        self.adapter = adapter
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    # -- inputs -----------------------------------------------------------------------------------------------

    def _get_params(self, with_output: bool = False) -> list[Param]:
        return [p for i, p in enumerate(self.kernel.artifact.params) if with_output or i not in self.result_idx]

    def _get_inputs(self, with_output: bool = False, dynamic_symbolic_constraints: Constraints = None) -> list[Any]:
        """Generated arguments of a call. with_output: for all parameters, outputs too."""
        sizes = known_sizes(self.kernel.artifact, dynamic_symbolic_constraints)
        adapter, index = self.kernel.execution, self.device_index
        return [supply(p, adapter, sizes, self.supply_type, index) for p in self._get_params(with_output)]

    def _inputs(self, inputs: Sequence[Any] | None, constraints: Constraints) -> list[Any]:
        if inputs is None:
            return self._get_inputs(dynamic_symbolic_constraints=constraints)
        expected = [p.name for p in self._get_params()]
        if len(inputs) != len(expected):
            raise ArgumentError(
                f"{self.kernel.artifact.name}: {len(inputs)} input_tensors",
                expected=f"{len(expected)}: {', '.join(expected)}",
            )
        return list(inputs)

    def _synchronize(self) -> None:
        self.kernel.execution.synchronize(self.device_index)

    # -- running ----------------------------------------------------------------------------------------------

    @keywords_checked
    def run_once(self, func: Callable[..., Any] | None = None, dynamic_symbolic_constraints: Constraints = None) -> Any:
        """Run the kernel, or ``func``, on fresh inputs; its result."""
        result = (func or self.func)(*self._inputs(None, dynamic_symbolic_constraints))
        self._synchronize()
        return result

    @keywords_checked
    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        dynamic_symbolic_constraints: Constraints = None,
    ) -> None:
        """Raises AssertionError unless the kernel computes what ``reference_program`` does, from copies of one input.

        reference_program: takes the kernel's arguments; returns its outputs, or writes them in place where the kernel
        does. max_mismatched_ratio: the part of the elements that may be wrong.
        """
        inputs = self._inputs(input_tensors, dynamic_symbolic_constraints)
        artifact = self.kernel.artifact
        expected = run(reference_program, inputs, self._synchronize)
        outcome = run(self.func, inputs, self._synchronize)
        check(artifact, pairs(artifact, outcome, expected, inputs), Tolerance(rtol, atol), max_mismatched_ratio)

    @keywords_checked
    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[[list[Any], list[Any]], Any] | None = None,
        dynamic_symbolic_constraints: Constraints = None,
    ) -> None:
        """Run both as assert_allclose does and hand the two lists of outputs to ``manual_check_prog``, which raises."""
        if manual_check_prog is None:
            raise ArgumentError("manual_assert_close needs a manual_check_prog", expected="a function of two lists")
        inputs = self._inputs(input_tensors, dynamic_symbolic_constraints)
        expected = run(reference_program, inputs, self._synchronize)
        outcome = run(self.func, inputs, self._synchronize)
        compared = pairs(self.kernel.artifact, outcome, expected, inputs)
        manual_check_prog([value for _, value, _ in compared], [value for _, _, value in compared])

    @keywords_checked
    def assert_consistent(self, repeat: int = 10, dynamic_symbolic_constraints: Constraints = None) -> None:
        """Raises AssertionError unless runs on the same inputs agree (to 1e-5; sums may be added in another order)."""
        inputs = self._inputs(None, dynamic_symbolic_constraints)
        artifact = self.kernel.artifact
        first = outputs_of(artifact, run(self.func, inputs, self._synchronize))
        for number in range(repeat):
            again = outputs_of(artifact, run(self.func, inputs, self._synchronize))
            for (name, value), (_, expected) in zip(again, first, strict=True):
                subject = f"{artifact.name}: {name} of run {number + 2}"
                assert_close(value, expected, Tolerance(1e-5, 1e-8), subject=subject)

    @keywords_checked
    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: Mode = "mean",
        dynamic_symbolic_constraints: Constraints = None,
        fast_flush: bool = True,
        cache_size: int | None = None,
        early_stop_baseline: float | None = None,
        device: Any = None,
    ) -> float | list[float]:
        """Milliseconds that the kernel, or ``func``, takes on inputs of the kernel; see :func:`do_bench`.

        The result is a number; of two or more quantiles it is a list of them.
        n_warmup, n_repeat: numbers of calls in place of the times warmup and rep, when not 0. fast_flush: every call
        finds its data in memory, not in a cache: on devices as do_bench does it, on the host by copies of the inputs
        that are used in turn. On a simulator the number of calls is bounded by what its adapter says. device: where the
        inputs are made and the calls are timed: a torch device, its name or an index; else that of device_index.
        """
        program = func or self.func
        place = self if device is None else self._on(device)
        inputs = place._inputs(input_tensors, dynamic_symbolic_constraints)
        most_calls = self._most_calls(inputs)
        call: Callable[[], Any] = lambda: program(*inputs)  # noqa: E731
        if fast_flush and self.kernel.device_type == HOST:
            fast_flush = False
            if most_calls is None and cache_size != 0:
                call = rotating(program, inputs, cache_size)
        return do_bench(
            call, warmup, rep, n_warmup, n_repeat, quantiles, fast_flush, backend, return_mode, place.device_index,
            cache_size, early_stop_baseline, kernel=self.kernel, max_calls=most_calls,
        )  # fmt: skip

    @keywords_checked
    def roofline(
        self,
        input_tensors: Sequence[Any] | None = None,
        dynamic_symbolic_constraints: Constraints = None,
        **settings: Any,
    ) -> Roofline:
        """A row of the profiler: the median time with TFLOP/s, GB/s, arithmetic intensity and, where the device's peaks
        are known, the share of the roofline. settings: of :meth:`do_bench`.

        The operations and bytes are those of ``kernel.cost()``, whose sizes are those of the inputs.
        """
        from tilecore.profiler.roofline import Roofline, peaks_of

        refuse_unknown("Profiler.roofline", settings, keywords_of(Profiler.do_bench))
        inputs = self._inputs(input_tensors, dynamic_symbolic_constraints)
        milliseconds = self.do_bench(input_tensors=inputs, **{"return_mode": "median", **settings})
        if not isinstance(milliseconds, float):
            raise ArgumentError("roofline() takes one time", found=f"{settings}", expected="no quantiles")
        return Roofline(self.kernel.cost(*inputs), milliseconds, peaks_of(self.kernel.target))

    def _on(self, device: Any) -> Profiler:
        """The profiler of the same kernel on another device: a torch device, its name or an index."""
        kind, _, number = str(device).rpartition(":") if ":" in str(device) else (str(device), "", "0")
        own = self.kernel.execution.torch_device().partition(":")[0]
        if isinstance(device, int):
            kind, number = own, str(device)
        if kind != own or not number.isdecimal():
            raise ArgumentError(
                f"do_bench(device={device!r}): {self.kernel.artifact.name} does not run there",
                expected=f"{own!r}, or the index of a device",
            )
        return Profiler(self.kernel, self.supply_type, int(number)).with_default_adapter(self.adapter)

    def _most_calls(self, inputs: Sequence[Any]) -> int | None:
        """The largest number of calls that the adapter's simulator should run; None for no limit."""
        limit = self.kernel.execution.largest_run()
        return None if limit is None else max(1, limit // max(operations(self.kernel, inputs), 1))


def operations(kernel: JITKernel, inputs: Sequence[Any]) -> int:
    """Element operations of one call, an order of magnitude: the elements of its tensors, or the estimated stores."""
    shapes = [tuple(getattr(value, "shape", ())) for value in inputs]
    sizes = sizes_of(kernel.artifact, inputs)
    blocks = [prod(evaluate(d, sizes) for d in entry.grid) * entry.work for entry in kernel.artifact.entries]
    return max(sum(prod(shape) for shape in shapes), 2 * sum(blocks))
