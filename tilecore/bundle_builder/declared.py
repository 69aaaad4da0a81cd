"""Finds the kernels that a file declares, each with the arguments of its call.

The file's function ``tilecore_kernels()`` yields them: calls as text, or pairs of a function and its arguments. Without
it they are the kernels that need no arguments: those under ``@T.prim_func``, and functions whose parameters all have
defaults. ``--call`` replaces both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from tilecore.autotune.calls import required
from tilecore.bundle_builder.kernels import (
    DeclaredKernel,
    kernel_of,
    label_of,
    plain_function,
    refused_kernel,
    without_tuning,
)
from tilecore.bundle_builder.user_code import EXAMPLE, HOOK, declared_items
from tilecore.bundles.argument_texts import on_one_line
from tilecore.errors import ArgumentError, Location, TilecoreError
from tilecore.frontend.function import PrimFunc
from tilecore.jit.call_text import argument_list, value_text
from tilecore.jit.factory_calls import call_of
from tilecore.jit.impl import JITImpl
from tilecore.signatures import signature_of
from tilecore.target_report.calls import parse_calls
from tilecore.target_report.kernels import LeftOut, kernel_in, missing_arguments


def declared_kernels(
    module: ModuleType, name: str | None, calls: Sequence[str], keep_going: bool = False
) -> tuple[list[DeclaredKernel], list[LeftOut]]:
    """The kernels of a module, those that were declared twice once; and those without known arguments.

    name: only the kernel of this name. calls: as the user wrote them; they replace what the module declares.
    keep_going: of a call that does not fit there is a kernel whose ``problem`` says so. Raises ArgumentError for names
    that are no kernel, and without keep_going for calls that do not fit.
    """
    kernels: dict[str, Any] = {}
    for key, value in vars(module).items():
        kernel = kernel_in(value, module)
        if kernel is not None:
            kernels[key] = kernel if without_tuning(value) is value else value
    hook = getattr(module, HOOK, None)
    left_out: list[LeftOut] = []
    declared: list[DeclaredKernel] = []
    if calls:
        for text in calls:
            declared += _made(partial(_called, text, module, kernels, "--call "), text, keep_going)
    elif hook is not None:
        for item, place in declared_items(hook, module):
            declared += _made(partial(_declared, item, module, kernels), item, keep_going, place)
    else:
        declared, left_out = _without_arguments(kernels)
    if name is not None:
        known = dict.fromkeys([*(kernel.name for kernel in declared), *kernels])
        declared = [kernel for kernel in declared if kernel.name == name]
        left_out = [kernel for kernel in left_out if kernel.label == name]
        if not declared and not left_out:
            raise ArgumentError(
                f"{module.__file__} declares no kernel {name!r}", expected=", ".join(known) or "a file with kernels"
            )
    return _distinct(declared), left_out


def _distinct(declared: Sequence[DeclaredKernel]) -> list[DeclaredKernel]:
    """The kernels without those that were declared before; others of the same label get a number: ``f() #2``."""
    by_label: dict[str, list[DeclaredKernel]] = {}
    distinct = []
    for kernel in declared:
        others = by_label.setdefault(kernel.label, [])
        if not any(_is_same(kernel.call, other.call) for other in others):
            others.append(kernel)
            label = kernel.label if len(others) == 1 else f"{kernel.label} #{len(others)}"
            distinct.append(replace(kernel, label=label))
    return distinct


def _is_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two calls are of the same function object, with equal arguments of the same types."""
    if one[0] is not other[0] or len(one[1]) != len(other[1]) or one[2].keys() != other[2].keys():
        return False
    pairs = [*zip(one[1], other[1], strict=True), *((one[2][name], other[2][name]) for name in one[2])]
    return all(_is_equal(*pair) for pair in pairs)


def _is_equal(value: Any, other: Any) -> bool:
    if value is other:
        return True
    try:
        return type(value) is type(other) and repr(value) == repr(other) and bool(value == other)
    except Exception:  # arrays have no truth value
        return False


def _made(
    make: Callable[[], list[DeclaredKernel]], item: Any, keep_going: bool, place: Location | None = None
) -> list[DeclaredKernel]:
    """What ``make`` makes of one item; with keep_going its error becomes a kernel that is refused. place: the line that
    gives the item, where the error tells no other."""
    try:
        return make()
    except TilecoreError as error:
        error.at(place)
        if not keep_going:
            raise
        return [_refused(item, error)]


def _refused(item: Any, problem: TilecoreError) -> DeclaredKernel:
    if isinstance(item, str):
        return refused_kernel(item.partition("(")[0].strip(), on_one_line(item.strip()), problem, {})
    function, arguments = _function_and_arguments(item)
    if not _is_kernel(function):
        return refused_kernel("", value_text(item), problem, {})
    kernel, name = without_tuning(function), _name_of(function)
    settings = kernel.settings if isinstance(kernel, JITImpl) else {}
    return refused_kernel(name, label_of(name, *call_of(arguments)), problem, settings)


def _without_arguments(values: Mapping[str, Any]) -> tuple[list[DeclaredKernel], list[LeftOut]]:
    wrapped = {plain_function(value) for value in values.values() if not isinstance(value, FunctionType)}
    declared, left_out = [], []
    for key, value in values.items():
        if isinstance(value, FunctionType) and value in wrapped:
            continue
        missing, tensor_types = missing_arguments(without_tuning(value))
        if missing:
            example = ", ".join(f"{parameter}=..." for parameter in missing)
            by_name = ", ".join(f'"{parameter}": ...' for parameter in missing)
            hint = f'--call "{key}({example})", or in the file: def {HOOK}(): yield {key}, {{{by_name}}}'
            left_out.append(LeftOut(key, f"it needs {', '.join(missing)}", hint))
        else:
            declared.append(kernel_of(value, key, (), tensor_types))
    return declared, left_out


def _called(text: str, module: ModuleType, values: Mapping[str, Any], given_by: str = "yield ") -> list[DeclaredKernel]:
    """The kernels of a call as text. given_by: what stands in front of it where the user writes it."""
    kernels = []
    for call in parse_calls(text, vars(module)):
        if call.name not in values:
            raise ArgumentError(
                f"{module.__file__} has no kernel {call.name!r}",
                found=text,
                expected=", ".join(values) or "a function that the file itself defines",
                hint=f"functions that the file imports are given by {HOOK}()",
            )
        try:
            kernels.append(kernel_of(values[call.name], call.name, call.args, call.kwargs))
        except ArgumentError as error:
            more = [f"{name}=..." for name in _missing(values[call.name], call.args, call.kwargs)]
            if more and error.hint is None:
                given = argument_list(call.args, call.kwargs)
                error.hint = f'give all arguments: {given_by}"{call.name}({", ".join([*given, *more])})"'
            raise
    return kernels


def _declared(item: Any, module: ModuleType, values: Mapping[str, Any]) -> list[DeclaredKernel]:
    """The kernels of one item of the file's hook."""
    if isinstance(item, str):
        return _called(item, module, values)
    function, arguments = _function_and_arguments(item)
    if not _is_kernel(function):
        raise ArgumentError(
            f"{HOOK} of {module.__file__} gives something that is no kernel",
            found=repr(item)[:120],
            expected=f"a call as text, or a pair of a function and its arguments, as in {EXAMPLE}",
            hint=_what_to_give(item),
        )
    name, (args, kwargs) = _name_of(function), call_of(arguments)
    try:
        return [kernel_of(function, name, args, kwargs)]
    except ArgumentError as error:
        missing = _missing(function, args, kwargs)
        if missing and error.hint is None:
            bound = signature_of(plain_function(function)).bind_partial(*args, **kwargs).arguments
            given = [f'"{key}": {value_text(value)}' for key, value in bound.items()]
            example = ", ".join([*given, *(f'"{key}": ...' for key in missing)])
            error.hint = f"give all arguments: yield {name}, {{{example}}}"
        raise


def _function_and_arguments(item: Any) -> tuple[Any, Any]:
    function, arguments = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, ())
    return function, arguments


def _is_kernel(function: Any) -> bool:
    return isinstance(without_tuning(function), (JITImpl, PrimFunc, FunctionType))


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", None) or plain_function(function).__name__)


def _what_to_give(item: Any) -> str | None:
    """What to do where the file's hook gives an item that is no kernel."""
    if isinstance(item, (tuple, list)) and len(item) > 2 and _is_kernel(item[0]):
        name = _name_of(item[0])
        return f"give the arguments as one tuple: yield {name}, ({', '.join(map(value_text, item[1:]))})"
    function, _ = _function_and_arguments(item)
    if type(function).__name__ in ("JITKernel", "RangedKernel", "AbsentKernel"):
        return "give the function and its arguments apart: a call compiles for this machine"
    return None


def _missing(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The parameters that have no default and that a call gives no value; none where it does not fit otherwise."""
    signature: inspect.Signature = signature_of(plain_function(function))
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return []
    return [name for name in required(signature) if name not in bound]
