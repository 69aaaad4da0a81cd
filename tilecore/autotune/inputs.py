"""Makes the input tensors for runs of candidates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import dim_to_json
from tilecore.artifact.records import Artifact, Param, ScalarParam
from tilecore.errors import ArgumentError, MissingInputsError
from tilecore.profiler.supply import TensorSupplyType, known_sizes, supply
from tilecore.runtime.params import KernelParam, params_of

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter

_local = threading.local()


class AutotuneInputs:
    """Context manager: the autotuner uses these tensors in this thread."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = list(tensors)

    def __enter__(self) -> AutotuneInputs:
        _stack().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _stack().pop()


def set_autotune_inputs(*args: Any) -> AutotuneInputs:
    """``with set_autotune_inputs(a, b): kernel = matmul(...)``: tune on these tensors, or on those of one list.

    They are the arguments of a call of the kernel, in order; they are copied before kernels write to them.
    """
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return AutotuneInputs(args[0])
    return AutotuneInputs(args)


def get_autotune_inputs() -> list[Any] | None:
    """The tensors of the innermost set_autotune_inputs of this thread; None outside."""
    stack = _stack()
    return stack[-1].tensors if stack else None


def _stack() -> list[AutotuneInputs]:
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


class InputSets:
    """Makes the inputs of candidates: one set for all that take arguments of the same shapes and types.

    given: arguments to use for all, in order or by the names of the parameters. supply_prog: makes them from the list
    of parameters. Otherwise they are filled by ``supply_type``; sizes: of the symbols that are known only at a call.
    """

    def __init__(
        self,
        supply_type: TensorSupplyType,
        supply_prog: Callable[[list[KernelParam]], Sequence[Any]] | None,
        inputs: Sequence[Any] | Mapping[str, Any] | None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.supply_type = supply_type
        self.supply_prog = supply_prog
        self.inputs = inputs
        self.sizes = sizes
        self._sets: dict[Any, list[Any]] = {}

    def of(self, artifact: Artifact, adapter: KernelAdapter) -> list[Any]:
        """The inputs for ``artifact``: the same list for the same shapes and types.

        Raises MissingInputsError for scalars and sizes that nobody has given, ArgumentError when they do not fit.
        """
        params = [p for i, p in enumerate(artifact.params) if i not in artifact.out_idx]
        key = tuple(_signature(param) for param in params)
        inputs = self._sets.get(key)
        if inputs is None:
            inputs = self._sets[key] = self._make(artifact, params, adapter)
        return inputs

    def _make(self, artifact: Artifact, params: list[Param], adapter: KernelAdapter) -> list[Any]:
        if self.inputs is None and self.supply_prog is None:
            self._require_numbers(artifact, params)
            sizes = known_sizes(artifact, self.sizes)
            return [supply(param, adapter, sizes, self.supply_type) for param in params]
        if isinstance(self.inputs, Mapping):
            return [self.inputs[param.name] for param in params]
        tensors = list(self.inputs if self.inputs is not None else self.supply_prog(list(params_of(params))))  # type: ignore[misc]
        if len(tensors) != len(params):
            source = "set_autotune_inputs gave" if self.inputs is not None else "supply_prog returned"
            raise ArgumentError(
                f"{source} {len(tensors)} tensors for {artifact.name}",
                expected=f"{len(params)}: {', '.join(p.name for p in params)}",
            )
        return tensors

    def _require_numbers(self, artifact: Artifact, params: list[Param]) -> None:
        """Numbers are not made up: they may be sizes, or choose what the kernel does."""
        numbers = [param.name for param in params if isinstance(param, ScalarParam)]
        numbers += [symbol.name for symbol in artifact.symbols if symbol.name not in numbers]
        missing = [name for name in numbers if name not in (self.sizes or {})]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            raise MissingInputsError(
                f"{artifact.name} is tuned without inputs, and {', '.join(missing)} {verb} known only at a call",
                found="no inputs: tensors are filled by supply_type, numbers are not",
                expected=f"values of {', '.join(param.name for param in params)}",
                hint="call it in `with set_autotune_inputs(...)`, with the arguments of a call of the kernel, or give "
                "@autotune a supply_prog, which makes them",
            )


def _signature(param: Param) -> Any:
    if isinstance(param, ScalarParam):
        return ("scalar", param.name, param.dtype)
    strides = None if param.strides is None else tuple(repr(dim_to_json(d)) for d in param.strides)
    return (param.dtype, tuple(repr(dim_to_json(d)) for d in param.shape), strides)
