"""Prepares calls of an artifact: the order of its arguments, and the source of every symbol."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.artifact.records import Artifact, Assumption, Entry, Param, ScalarParam, Symbol, TensorParam, Workspace
from tilecore.dtypes import DLPACK_PAIRS, FACTS
from tilecore.errors import LanguageError, LoweringError
from tilecore.frozen_dataclasses import frozen
from tilecore.runtime.index_limits import fitting, tree_of
from tilecore.runtime.scalars import integer_range

INTERFACE = 7  # changes when the built launcher and its Python callers must change together


@frozen
class BoundSymbol:
    """A symbol and the source of its value: ``kind`` "shape", "stride" or "scalar" of parameter ``param``, ``axis``.

    The value there is ``scale * symbol + offset``; the symbol must lie in low..high.
    """

    name: str
    kind: str
    param: int
    axis: int
    scale: int
    offset: int
    low: int
    high: int
    place: str  # for error messages: "A.shape[0]"


@frozen
class CallPlan:
    """The parameters of a kernel, sorted for a call.

    inputs: parameters in the order of the call's arguments. outputs: parameters that the call allocates. tensors,
    scalars: parameters by kind, in order. These four hold indices into ``params``. sizes: those of LoadedKernel.
    launched: the entries of the artifact. entries: these with grids that are negative where a tensor is too large or an
    assumption does not hold: the built launcher then leaves the call to :func:`~tilecore.runtime.arguments.bind`.
    """

    name: str
    params: tuple[Param, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: tuple[int, ...]
    scalars: tuple[int, ...]
    symbols: tuple[BoundSymbol, ...]
    workspaces: tuple[Workspace, ...]
    entries: tuple[Entry, ...]
    device_type: int
    sizes: tuple[Dim, ...] = ()
    index_bits: int = 64
    index_hint: str = ""
    assumptions: tuple[Assumption, ...] = ()
    launched: tuple[Entry, ...] = ()

    @cached_property
    def symbol_index(self) -> dict[str, int]:
        return {symbol.name: index for index, symbol in enumerate(self.symbols)}

    @cached_property
    def argument_names(self) -> tuple[str, ...]:
        return tuple(self.params[p].name for p in self.inputs)

    @cached_property
    def writes_floats(self) -> bool:
        """Whether a call writes a tensor that could have a gradient in torch: of floating point."""
        written = {*self.outputs, *(p for p in self.tensors if "w" in self.tensor(p).access)}
        return any(may_have_gradient(self.tensor(param)) for param in written)

    @cached_property
    def element_types(self) -> dict[int, list[tuple[int, int, int]]]:
        """The DLPack element types (code, bits, lanes) that each tensor parameter takes, by parameter index."""
        types = {i: [(*FACTS[name].dlpack, 1) for name in storage_dtypes(self.tensor(i))] for i in self.tensors}
        for i in self.tensors:
            declared = self.tensor(i)
            if declared.packed > 1 and declared.dtype in DLPACK_PAIRS:
                types[i].append(DLPACK_PAIRS[declared.dtype])
        return types

    @property
    def slot_count(self) -> int:
        return len(self.params) + len(self.workspaces) + len(self.symbols)

    def tensor(self, param: int) -> TensorParam:
        declared = self.params[param]
        assert isinstance(declared, TensorParam)
        return declared


def make_plan(artifact: Artifact, device_type: int, sizes: tuple[Dim, ...] = ()) -> CallPlan:
    """The call plan of an artifact. sizes: those of LoadedKernel.

    Raises LanguageError when a size cannot be known at the call, LoweringError when the artifact contradicts itself.
    """
    outputs = tuple(artifact.out_idx)
    params = artifact.params
    tensors = tuple(i for i, p in enumerate(params) if isinstance(p, TensorParam))
    for out in outputs:
        if out not in tensors:
            raise LanguageError(
                f"{artifact.name}: out_idx names parameter {out} (counted from 0), which is not a tensor"
            )
    for index in tensors:
        _check_tensor_param(artifact.name, params[index])
    conditions = [tree_of(assumption.condition) for assumption in artifact.assumptions]
    if artifact.index_bits == 32:
        conditions += fitting((*(p for p in params if isinstance(p, TensorParam)), *artifact.workspaces))
    plan = CallPlan(
        artifact.name,
        params,
        tuple(i for i in range(len(params)) if i not in outputs),
        outputs,
        tensors,
        tuple(i for i in range(len(params)) if i not in tensors),
        tuple(_bound(artifact, symbol) for symbol in artifact.symbols),
        artifact.workspaces,
        tuple(_negative_unless(conditions, entry) for entry in artifact.entries),
        device_type,
        sizes,
        artifact.index_bits,
        artifact.index_hint,
        artifact.assumptions,
        artifact.entries,
    )
    _check_names(plan)
    return plan


def _negative_unless(conditions: Sequence[Any], entry: Entry) -> Entry:
    """The entry with a grid that is negative unless all conditions, trees of Dims, hold."""
    width = tree_of(entry.grid[0])
    for condition in conditions:
        width = ("select", condition, width, -1)
    return replace(entry, grid=(DimExpr(width), *entry.grid[1:])) if conditions else entry


def storage_dtypes(param: TensorParam) -> tuple[str, ...]:
    """The element types of the tensors that a parameter takes; outputs have the first one."""
    if param.packed == 1:
        return (param.dtype,)
    first = str(FACTS[param.dtype].torch)
    return (first, "uint8" if first == "int8" else "int8")


def may_have_gradient(param: TensorParam) -> bool:
    """Whether the parameter's tensors are of floating point in torch; packed 4-bit floats are integers there."""
    return FACTS[storage_dtypes(param)[0]].kind == "float"


def _check_tensor_param(kernel: str, param: Any) -> None:
    if param.strides is not None and len(param.strides) != len(param.shape):
        raise LoweringError(f"{kernel}: {param.name} has {len(param.shape)} axes but {len(param.strides)} strides")
    if param.packed > 1 and not param.shape:
        raise LoweringError(f"{kernel}: {param.name} is packed, so it needs at least one axis")
    if param.packed > 1 and param.strides is not None and param.strides[-1] != 1:
        raise LanguageError(f"{kernel}: the last stride of {param.name} must be 1, since {param.dtype} is packed")


def _bound(artifact: Artifact, symbol: Symbol) -> BoundSymbol:
    kind, param, axis = symbol.source
    scale, offset = symbol.scale, symbol.offset
    if param in artifact.out_idx:
        kind, param, axis, scale, offset = _site_in_inputs(artifact, symbol.name)
    if scale == 0:
        raise LoweringError(f"{artifact.name}: the size {symbol.name} has scale 0")
    low, high = integer_range(symbol.dtype)
    if kind == "shape":
        low = 0
    owner = artifact.params[param].name
    if kind == "scalar" and FACTS[artifact.params[param].dtype].kind not in ("int", "uint"):
        raise LoweringError(f"{artifact.name}: the size {symbol.name} comes from {owner}, which is not an integer")
    place = owner if kind == "scalar" else f"{owner}.{kind}[{axis}]"
    return BoundSymbol(symbol.name, kind, param, axis, scale, offset, low, high, place)


def other_source(plan: CallPlan, symbol: BoundSymbol, params: Container[int]) -> BoundSymbol | None:
    """Another source of a symbol, in one of the tensors ``params``; None where there is none."""
    for kind in ("shape", "stride"):
        for param in plan.tensors:
            declared = plan.tensor(param)
            if param not in params:
                continue
            for axis, dim in enumerate(declared.shape if kind == "shape" else declared.strides or ()):
                linear = _linear(dim, symbol.name)
                if linear is not None:
                    place = f"{declared.name}.{kind}[{axis}]"
                    return replace(
                        symbol, kind=kind, param=param, axis=axis, scale=linear[0], offset=linear[1], place=place
                    )
    return None


def _site_in_inputs(artifact: Artifact, name: str) -> tuple[str, int, int, int, int]:
    """Another source of a symbol whose first source is a tensor that the call allocates. Raises LanguageError."""
    for kind in ("shape", "stride"):
        for index, param in enumerate(artifact.params):
            if index in artifact.out_idx:
                continue
            if isinstance(param, ScalarParam):
                if param.name == name:
                    return "scalar", index, 0, 1, 0
                continue
            for axis, dim in enumerate(param.shape if kind == "shape" else param.strides or ()):
                linear = _linear(dim, name)
                if linear is not None:
                    return kind, index, axis, *linear
    outputs = [artifact.params[i] for i in artifact.out_idx]
    outputs_with_name = ", ".join(p.name for p in outputs if name in set(_names_of(p)))
    raise LanguageError(
        f"{name} cannot be known when {artifact.name} is called: it occurs only in {outputs_with_name}, which "
        "the call allocates",
        expected=f"{name} in the shape of a tensor that is passed, or a scalar parameter named {name}",
        hint=f"take {outputs_with_name} out of out_idx, or add a parameter that gives {name}",
    )


def _linear(dim: Dim, name: str) -> tuple[int, int] | None:
    """(scale, offset) when ``dim`` is scale * name + offset with a scale other than 0; else None."""
    tree = dim if isinstance(dim, int) else dim.tree
    coefficients = _coefficients(tree, name)
    return coefficients if coefficients is not None and coefficients[0] != 0 else None


def _coefficients(tree: Any, name: str) -> tuple[int, int] | None:
    if isinstance(tree, int):
        return 0, tree
    if isinstance(tree, str):
        return (1, 0) if tree == name else None
    if tree[0] not in ("+", "-", "*"):
        return None
    left, right = _coefficients(tree[1], name), _coefficients(tree[2], name)
    if left is None or right is None:
        return None
    if tree[0] == "*":
        if left[0] and right[0]:
            return None
        return left[0] * right[1] + right[0] * left[1], left[1] * right[1]
    sign = 1 if tree[0] == "+" else -1
    return left[0] + sign * right[0], left[1] + sign * right[1]


def _names_of(param: Param | Workspace) -> Iterator[str]:
    dims: Sequence[Dim] = ()
    if not isinstance(param, ScalarParam):
        dims = (*param.shape, *(getattr(param, "strides", None) or ()))
    for dim in dims:
        if isinstance(dim, DimExpr):
            yield from dim.names()


def _check_names(plan: CallPlan) -> None:
    used = {name for item in (*plan.params, *plan.workspaces) for name in _names_of(item)}
    for assumption in plan.assumptions:
        used |= assumption.condition.names() if isinstance(assumption.condition, DimExpr) else set()
    for entry in plan.entries:
        for dim in (*entry.grid, entry.shared_bytes, *plan.sizes):
            used |= dim.names() if isinstance(dim, DimExpr) else set()
    missing = sorted(used - set(plan.symbol_index))
    if missing:
        raise LoweringError(f"{plan.name}: the sizes {', '.join(missing)} are used but are not symbols of the kernel")
