"""The schema of a kernel's operation: which arguments it takes, which of them it writes, what it returns.

The text is in the language of torch's native functions (aten/src/ATen/native/README.md in torch's sources):
``Tensor(a!)`` is a tensor that is written, each with a letter of its own.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from math import isfinite
from typing import Any

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import ScalarParam, TensorParam
from tilecore.dtypes import dtype as DType
from tilecore.errors import UnsupportedError
from tilecore.runtime.call_plan import CallPlan


def schema_of(plan: CallPlan, name: str, defaults: Mapping[str, Any] | None = None) -> str:
    """``name(Tensor A, Tensor(a!) B, float s=2.0) -> Tensor``, for the calls of ``plan``.

    Integer scalars are ``SymInt``, so that sizes of a traced program can be passed. defaults: values of scalars that a
    call may leave out; schemas have them at the end only, and no infinities and NaNs. Raises UnsupportedError for
    parameters that no operation can have.
    """
    letters = iter(string.ascii_lowercase)
    optional = optional_arguments(plan, defaults or {})
    arguments = []
    for param in map(plan.params.__getitem__, plan.inputs):
        value = f"={_converted(param, (defaults or {})[param.name])!r}" if param.name in optional else ""
        arguments.append(_argument(plan, param, letters) + value)
    tensors = ["Tensor"] * len(plan.outputs)
    returns = tensors[0] if len(tensors) == 1 else f"({', '.join(tensors)})"
    return f"{name}({', '.join(arguments)}) -> {returns}"


def optional_arguments(plan: CallPlan, defaults: Mapping[str, Any]) -> frozenset[str]:
    """The names of the arguments that a call of the operation may leave out: scalars with a finite number as default,
    behind which there are no others."""
    names = []
    for param in map(plan.params.__getitem__, reversed(plan.inputs)):
        value = defaults.get(param.name)
        if not isinstance(param, ScalarParam) or not isinstance(value, (int, float)) or not isfinite(value):
            break
        names.append(param.name)
    return frozenset(names)


def writes_arguments(plan: CallPlan) -> list[str]:
    """The names of the arguments that the kernel writes."""
    declared = [plan.params[param] for param in plan.inputs]
    return [p.name for p in declared if isinstance(p, TensorParam) and "w" in p.access]


def _argument(plan: CallPlan, param: Any, letters: Any) -> str:
    if isinstance(param, ScalarParam):
        return f"{_scalar_type(param)} {param.name}"
    if param.pointer == "table":
        raise UnsupportedError(
            f"{plan.name} cannot be an operation of torch: torch would not know which tensors it accesses",
            found=f"{param.name}, a tensor of addresses",
            expected="tensors as parameters of their own",
        )
    optional = "?" if _may_be_none(plan, param) else ""
    written = ""
    if "w" in param.access:
        letter = next(letters, None)
        if letter is None:
            raise UnsupportedError(f"{plan.name} writes more than 26 arguments, for which schemas have no names")
        written = f"({letter}!)"
    return f"Tensor{written}{optional} {param.name}"


def _may_be_none(plan: CallPlan, param: TensorParam) -> bool:
    """May a call pass None? Where a number of the call says that the kernel leaves the tensor alone, and no size is
    known by this tensor alone."""
    if not isinstance(param.needed, DimExpr):
        return False
    numbers = {plan.params[index].name for index in plan.scalars}
    gives_size = any(plan.params[symbol.param] is param for symbol in plan.symbols)
    return not gives_size and not numbers.isdisjoint(param.needed.names())


def _converted(param: Any, value: float) -> bool | int | float:
    return {"bool": bool, "float": float}.get(_scalar_type(param), int)(value)


def _scalar_type(param: ScalarParam) -> str:
    kind = DType(param.dtype)
    if kind == "bool":
        return "bool"
    return "float" if kind.is_float else "SymInt"
