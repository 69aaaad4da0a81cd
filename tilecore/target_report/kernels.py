"""Finds the kernels of a file and the arguments to build each with.

A function that returns a kernel needs arguments: those of ``--call``, else those of the file's list ``EXPLAIN``, which
holds calls as text, else its defaults. A call may have alternatives, for targets that refuse it. A function whose
arguments are not all known is left out, with a reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.errors import ArgumentError, LanguageError
from tilecore.frontend.function import PrimFunc
from tilecore.frontend.signature import annotations_of, evaluate_strings
from tilecore.jit.compile import ir_of
from tilecore.jit.eager import declarations, is_eager
from tilecore.jit.impl import JITImpl
from tilecore.language.annotations import TensorType
from tilecore.signatures import signature_of
from tilecore.target_report.calls import Call, parse_calls
from tilecore.target_report.factories import is_factory

HOOK = "EXPLAIN"  # the name of a file's own list of calls


@dataclass(frozen=True)
class Kernel:
    """A kernel with its arguments.

    label: the kernel as a call. make: builds its tile IR, with some arguments changed. settings: those of its
    ``tilecore.jit``. choices: the arguments with defaults that may be changed (positive integers and element types).
    alternatives: the kernels to compile where a target refuses this one, the first that it compiles.
    """

    label: str
    make: Callable[[Mapping[str, Any]], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    alternatives: tuple[Kernel, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A kernel that was not compiled: the reason, and what to do."""

    label: str
    reason: str
    hint: str


def kernels_of(module: ModuleType, name: str | None, calls: Sequence[str]) -> list[Kernel | LeftOut]:
    """All kernels of a file, in the file's order; only the kernel ``name`` where it is given.

    calls: calls of the file's kernels, as the user wrote them. Raises ArgumentError for names that are no kernel and
    for calls that cannot be read.
    """
    values = {key: kernel for key, value in vars(module).items() if (kernel := kernel_in(value, module)) is not None}
    calls_by_name = _calls(module, calls, values)
    called = {key: [_with_alternatives(values, several) for several in texts] for key, texts in calls_by_name.items()}
    if name is not None:
        if name not in values:
            raise ArgumentError(
                f"{module.__file__} has no kernel {name!r}",
                expected=f"one of {', '.join(values)}" if values else "a file with kernels",
            )
        values = {name: values[name]}
    kernels: list[Kernel | LeftOut] = []
    wrapped = {_plain(value) for value in values.values() if isinstance(value, JITImpl)}
    for key, value in values.items():
        if key in called:
            kernels += called[key]
        elif not (isinstance(value, FunctionType) and value in wrapped):
            kernels.append(_by_defaults(key, value))
    return kernels


def kernel_in(value: Any, module: ModuleType) -> Any:
    """The T.prim_func, JITImpl or kernel-building function of ``value``; None where the file does not define it."""
    value = getattr(value, "__dict__", {}).get("jit_impl", value)  # under tilecore.autotune
    if isinstance(value, FunctionType):
        is_defined_here = value.__globals__ is vars(module)
        if is_defined_here and is_eager(value):
            return JITImpl(value, {})
        is_defined_here = is_defined_here and is_factory(value)
    else:
        is_defined_here = isinstance(value, (PrimFunc, JITImpl)) and _plain(value).__globals__ is vars(module)
    return value if is_defined_here else None


def _plain(value: Any) -> FunctionType:
    inner = value.func if isinstance(value, JITImpl) else value
    return inner.function if isinstance(inner, PrimFunc) else inner


def _calls(module: ModuleType, calls: Sequence[str], kernels: Mapping[str, Any]) -> dict[str, list[tuple[Call, ...]]]:
    """Calls, each with its alternatives, by the name that they call.

    Calls of the user replace those of the file's EXPLAIN.
    """
    calls_by_name: dict[str, list[tuple[Call, ...]]] = {}
    file_calls = getattr(module, HOOK, ())
    if isinstance(file_calls, str) or not all(isinstance(text, str) for text in file_calls):
        raise ArgumentError(
            f"{HOOK} of {module.__file__} is no list of calls",
            found=repr(file_calls)[:80],
            expected='["name(1024, 1024)", ...]',
        )
    for texts in (calls, file_calls):
        parsed: dict[str, list[tuple[Call, ...]]] = {}
        for text in texts:
            alternatives = parse_calls(text, vars(module))
            for call in alternatives:
                if call.name not in kernels:
                    raise ArgumentError(
                        f"{module.__file__} has no kernel {call.name!r}", found=text, expected=", ".join(kernels)
                    )
            parsed.setdefault(alternatives[0].name, []).append(alternatives)
        calls_by_name = {**parsed, **calls_by_name}
    return calls_by_name


def _with_alternatives(values: Mapping[str, Any], calls: Sequence[Call]) -> Kernel | LeftOut:
    """The kernel of the first call; the others are its alternatives. Left out where one of the calls does not fit."""
    kernels = []
    for call in calls:
        kernel = _called(values[call.name], call)
        if isinstance(kernel, LeftOut):
            return kernel
        kernels.append(kernel)
    return replace(kernels[0], alternatives=tuple(kernels[1:]))


def _by_defaults(name: str, value: Any) -> Kernel | LeftOut:
    if takes_no_arguments(value):
        return _called(value, Call(name, (), {}, name))
    missing, tensor_types = missing_arguments(value)
    if missing:
        example = ", ".join(f"{parameter}=..." for parameter in missing)
        return LeftOut(
            name,
            f"it needs {', '.join(missing)}",
            f'--call "{name}({example})", or {HOOK} = ["{name}(...)"] in the file',
        )
    return _called(value, Call(name, (), tensor_types, f"{name}()"))


def missing_arguments(value: Any) -> tuple[list[str], dict[str, Any]]:
    """The arguments that a call of a kernel must give, and the types of an eager function's tensors that are known."""
    if takes_no_arguments(value):
        return [], {}
    return _of_eager(value) if _is_eager(value) else (_missing(signature_of(_plain(value))), {})


def takes_no_arguments(value: Any) -> bool:
    """Whether it is one kernel, under T.prim_func."""
    return isinstance(value, PrimFunc) or (isinstance(value, JITImpl) and value.mode == "kernel")


def _is_eager(value: Any) -> bool:
    return isinstance(value, JITImpl) and value.mode == "eager"


def _missing(signature: inspect.Signature) -> list[str]:
    """The parameters without a default."""
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, p in signature.parameters.items() if p.default is p.empty and p.kind not in stars]


def _of_eager(value: JITImpl) -> tuple[list[str], dict[str, Any]]:
    """The arguments that a call of an eager function must give, and the types of tensors whose sizes are all known.

    A call must give values, and T.const sizes by their names; not the tensors that the body declares.
    """
    function = _plain(value)
    annotations = evaluate_strings(function, annotations_of(function), None)
    tensors = {name: kind for name, kind in annotations.items() if isinstance(kind, TensorType)}
    declared, sizes = declarations(function)
    missing = [name for name in _missing(value.signature) if name not in tensors and name not in declared]
    tensor_types = {name: kind for name, kind in tensors.items() if all(isinstance(size, int) for size in kind.shape)}
    return [*missing, *sizes], tensor_types


def _called(value: Any, call: Call) -> Kernel | LeftOut:
    settings = value.settings if isinstance(value, JITImpl) else {}
    if takes_no_arguments(value):
        return Kernel(call.name, lambda changes: ir_of(_prim_func(value)), settings)
    try:
        bound = _bound(value, call)
    except TypeError as error:
        return LeftOut(
            call.text, f"the call does not fit the function: {error}", f'--call "{call.name}(...)" with its arguments'
        )
    bound.apply_defaults()
    defaults = {n for n, p in signature_of(_plain(value)).parameters.items() if p.default is not p.empty}

    def make(changes: Mapping[str, Any]) -> Any:
        arguments = {**bound.arguments, **changes}
        complete = inspect.BoundArguments(bound.signature, arguments)  # type: ignore[arg-type]
        build = value.get_tir if isinstance(value, JITImpl) else value
        return ir_of(_prim_func(build(*complete.args, **complete.kwargs)))

    return Kernel(call.text, make, settings, {n: v for n, v in bound.arguments.items() if n in defaults and _varies(v)})


def _bound(value: Any, call: Call) -> inspect.BoundArguments:
    """The call's arguments by parameter; calls of eager functions may leave out tensors. Raises TypeError."""
    if _is_eager(value):
        return value.call_signature(call.kwargs).bind_partial(*call.args, **call.kwargs)
    return signature_of(_plain(value)).bind(*call.args, **call.kwargs)


def _varies(value: Any) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool) and type(value).__module__ == "builtins"
    return (is_number and value > 0) or (isinstance(value, str) and str(value) in FACTS)


def _prim_func(kernel: Any) -> Any:
    if isinstance(kernel, JITImpl):
        if kernel.mode != "kernel":
            raise LanguageError(
                "the function returned another function that builds a kernel",
                found=repr(kernel),
                expected="a function decorated with @T.prim_func",
            )
        return kernel.func
    return kernel
