"""The fake implementation of a kernel's operation: the results' sizes from the arguments', which may be symbols.

Torch runs it where it traces (torch.compile, torch.export, make_fx) on tensors without memory. What a real call refuses
by the arguments' types and sizes is refused here, too, so that a wrong program fails when it is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilecore.artifact.dims import OPERATORS, Dim
from tilecore.artifact.records import TensorParam
from tilecore.dtypes import DLPACK_PAIRS, FACTS
from tilecore.errors import ArgumentError
from tilecore.runtime import argument_errors, size_errors
from tilecore.runtime.arguments import logical_shape, logical_strides
from tilecore.runtime.call_plan import BoundSymbol, CallPlan, storage_dtypes
from tilecore.tensors.views import TensorView


def fake_of(plan: CallPlan, device: str) -> Callable[..., Any]:
    """The function that torch calls instead of the kernel. device: torch's name of the device of the results of a call
    without tensors."""

    def fake(*args: Any) -> Any:
        return _FakeCall(plan, args).results(device)

    return fake


class _FakeCall:
    """One call: the arguments by parameter, and the sizes that they give."""

    def __init__(self, plan: CallPlan, args: tuple[Any, ...]) -> None:
        self.plan = plan
        self.values = dict(zip(plan.inputs, args, strict=True))
        self.symbols: dict[str, Any] = {}
        for param in plan.tensors:
            if self.values.get(param) is not None:
                self._check_kind(plan.tensor(param), self.values[param])
        for symbol in plan.symbols:
            self.symbols[symbol.name] = self._value_of(symbol)
        for param in plan.tensors:
            if self.values.get(param) is not None:
                self._check_sizes(plan.tensor(param), self.values[param])

    def results(self, device: str) -> Any:
        import torch

        given = next((v.device for v in self.values.values() if isinstance(v, torch.Tensor)), torch.device(device))
        tensors = tuple(self._output(self.plan.tensor(param), given) for param in self.plan.outputs)
        if not tensors:
            return None
        return tensors[0] if len(tensors) == 1 else tensors

    def _output(self, declared: TensorParam, device: Any) -> Any:
        import torch

        shape = [self._size(dim) for dim in declared.shape]
        if declared.packed > 1:
            shape[-1] = shape[-1] // declared.packed
        return torch.empty(shape, dtype=_torch_dtypes(declared)[0], device=device)

    def _check_kind(self, declared: TensorParam, tensor: Any) -> None:
        if tensor.dtype not in _torch_dtypes(declared):
            raise argument_errors.dtype(self.plan, declared, _view(tensor))
        if tensor.dim() != len(declared.shape):
            raise argument_errors.rank(self.plan, declared, _view(tensor))

    def _check_sizes(self, declared: TensorParam, tensor: Any) -> None:
        for axis, (dim, size) in enumerate(zip(declared.shape, logical_shape(declared, _view(tensor)), strict=True)):
            expected = self._size(dim)
            if type(size) is int and type(expected) is int:
                if size != expected:
                    view = _view(tensor)
                    raise size_errors.shape(self.plan, declared, view, axis, size, expected, self.symbols)
                continue
            _check(size == expected, f"{self.plan.name}(): {declared.name}.shape[{axis}] must be {dim}")

    def _value_of(self, symbol: BoundSymbol) -> Any:
        value = self.values.get(symbol.param)
        if value is None:
            raise ArgumentError(
                f"{self.plan.name}(): the size {symbol.name} is not known, as {symbol.place} has no tensor",
                found="None",
                expected="a tensor, where the operation is traced",
            )
        if symbol.kind == "scalar":
            size = value
        else:
            declared, view = self.plan.tensor(symbol.param), _view(value)
            sizes = logical_shape(declared, view) if symbol.kind == "shape" else logical_strides(declared, view)
            size = sizes[symbol.axis]
        if symbol.scale == 1 and symbol.offset == 0:
            return size
        _check(
            (size - symbol.offset) % symbol.scale == 0,
            f"{self.plan.name}(): {symbol.place} must be {symbol.scale} * {symbol.name} + {symbol.offset}",
        )
        return (size - symbol.offset) // symbol.scale

    def _size(self, dim: Dim) -> Any:
        return dim if isinstance(dim, int) else _evaluated(dim.tree, self.symbols)


def _torch_dtypes(declared: TensorParam) -> list[Any]:
    """The dtypes of torch that the parameter takes; outputs have the first."""
    import torch

    names = [str(FACTS[name].torch) for name in storage_dtypes(declared)]
    if declared.packed > 1 and declared.dtype in DLPACK_PAIRS:
        names.append("float4_e2m1fn_x2")
    return [getattr(torch, name) for name in names if hasattr(torch, name)]


def _check(condition: Any, message: str) -> None:
    """Demands what may depend on symbols: then torch checks it where it runs the traced program."""
    import torch

    torch._check(condition, lambda: message)


def _evaluated(tree: Any, symbols: Mapping[str, Any]) -> Any:
    """The value of a size; torch's symbols stay symbols."""
    import torch

    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return symbols[tree]
    if tree[0] == "select":
        condition = _evaluated(tree[1], symbols)
        return _evaluated(tree[2] if condition else tree[3], symbols)
    left, right = _evaluated(tree[1], symbols), _evaluated(tree[2], symbols)
    if tree[0] in ("min", "max"):
        return (torch.sym_min if tree[0] == "min" else torch.sym_max)(left, right)
    return OPERATORS[tree[0]](left, right)


def _view(tensor: Any) -> TensorView:
    """A description of the tensor for an error: torch's tensors are named by themselves, the rest is not looked at."""
    return TensorView(0, tuple(tensor.shape), tuple(tensor.stride()), (0, 0, 1), (1, 0), "torch", tensor, None)
