"""Checks that passes keep what launchers and later passes need of a function: its parameters and its attributes.

Parameters are the slots of a launch, so their names, their order and the types of scalars stay. outline_kernels, or the
pass of a backend in its place, makes a module of the function: then workspaces and sizes of the call may be added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.errors import LoweringError
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import IRModule, PrimFunc, is_buffer_var

SYMBOL = "global_symbol"
# attributes that a pass must not remove; a backend's own, <kind>.<name>, may go when a pass has used them
ATTRIBUTES = frozenset(
    {SYMBOL, *(key for name, key in vars(FunctionAttr).items() if isinstance(key, str) and not name.startswith("_"))}
)
# attributes of every kernel of a module: the artifact's entries and the code generator read them
OF_KERNELS = (SYMBOL, FunctionAttr.GRID, FunctionAttr.BLOCK_VARS, FunctionAttr.THREADS, FunctionAttr.THREAD_VARS)
BUFFER = "buffer"
KEEP = (
    "a pass keeps what it does not change: func.with_body(body), or PrimFunc(params, body, func.ret_type, func.attrs)"
)


@dataclass(frozen=True)
class Interface:
    """The interface of a function. parameters: (name, type of a scalar or BUFFER), in order."""

    parameters: tuple[tuple[str, str], ...]
    attributes: frozenset[str]
    symbol: str

    @staticmethod
    def of(func: PrimFunc) -> Interface:
        parameters = tuple((str(p.name), BUFFER if is_buffer_var(p) else dtype_of(p)) for p in func.params)
        attributes = func.attrs or {}
        keys = frozenset(str(key) for key in attributes.keys()) & ATTRIBUTES  # noqa: SIM118 - it is TVM's map
        return Interface(parameters, keys, str(attributes.get(SYMBOL, "")))

    @property
    def title(self) -> str:
        return f"kernel {self.symbol!r}" if self.symbol else "a kernel"


class InterfaceCheck:
    """Compares the interfaces of the functions after each pass with those before it."""

    def __init__(self) -> None:
        self._is_module = False
        self._interfaces: dict[str, Interface] = {}

    def check(self, func: Any, after: str, hint: str) -> None:
        """Raises LoweringError if ``func`` (a PrimFunc or an IRModule) has lost something. after: the pass that
        returned it."""
        before, was_module = self._interfaces, self._is_module
        self._is_module = isinstance(func, IRModule)
        now = self._interfaces = {name: Interface.of(each) for name, each in _functions_of(func).items()}
        if not before:
            return
        if was_module and not self._is_module:
            raise LoweringError(f"after {after}: the module is one function again", expected="an IRModule", hint=hint)
        if was_module and before.keys() - now.keys():
            lost = ", ".join(sorted(before.keys() - now.keys()))
            raise LoweringError(f"after {after}: the module has lost kernel {lost}", found=_names(now), hint=hint)
        is_split = self._is_module and not was_module
        for name, interface in now.items():
            former = next(iter(before.values())) if is_split else before.get(name)
            problem = _problem(former, interface, is_split) if former is not None else None
            if problem is not None:
                message, found, expected = problem
                title = (former or interface).title
                raise LoweringError(
                    f"after {after}: {title} {message}", found=found, expected=expected, hint=f"{KEEP}; {hint}"
                )


def _functions_of(func: Any) -> dict[str, PrimFunc]:
    if isinstance(func, IRModule):
        return {str(var.name_hint): each for var, each in func.functions.items() if isinstance(each, PrimFunc)}
    return {"": func} if isinstance(func, PrimFunc) else {}


def _problem(before: Interface, now: Interface, is_split: bool) -> tuple[str, str, str] | None:
    """(what is wrong, found, expected); None where nothing is."""
    required = frozenset(OF_KERNELS) if is_split else before.attributes
    lost_attributes = required - now.attributes
    if lost_attributes:
        names = ", ".join(sorted(lost_attributes))
        verb = "lacks" if is_split else "has lost"
        return f"{verb} the attributes {names}", _names(now.attributes), _names(required)
    if before.symbol and now.symbol != before.symbol and not is_split:
        return "has another name", now.symbol, before.symbol
    lost = [p for p in before.parameters if p not in now.parameters]
    found, expected = _signature(now), _signature(before)
    if lost:
        return f"has lost the parameters {', '.join(name for name, _ in lost)}", found, expected
    if not is_split and now.parameters != before.parameters:
        return "has other parameters", found, expected
    return None


def _signature(interface: Interface) -> str:
    return f"({', '.join(f'{name}: {kind}' for name, kind in interface.parameters)})"


def _names(names: Mapping[str, Any] | frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
