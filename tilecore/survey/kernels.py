"""The kernels of a file: which there are, and with which arguments each is made.

A function that makes kernels needs arguments: those of ``--call``, else those of the file's list ``EXPLAIN``, which
holds calls as texts, else its defaults. One without is left out, with a reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
from tilecore.survey.calls import Call, parse_call
from tilecore.survey.factories import is_factory

HOOK = "EXPLAIN"  # the name of a file's own list of calls


@dataclass(frozen=True)
class Kernel:
    """A kernel with its arguments. label: as a call. make: its tile IR, with some arguments changed.

    settings: of its ``tilecore.jit``. choices: the arguments that have defaults and could be others: numbers, types.
    """

    label: str
    make: Callable[[Mapping[str, Any]], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeftOut:
    """A kernel that was not compiled, why, and what to do."""

    label: str
    reason: str
    hint: str


def kernels_of(module: ModuleType, name: str | None, calls: Sequence[str]) -> list[Kernel | LeftOut]:
    """All kernels of a file in its order; with ``name`` that one alone. calls: what the user wants made."""
    known = {key: kernel for key, value in vars(module).items() if (kernel := _kernel_in(value, module)) is not None}
    wanted = _calls(module, calls, known)
    if name is not None:
        if name not in known:
            raise ArgumentError(
                f"{module.__file__} has no kernel {name!r}", expected=", ".join(known) or "a kernel in it"
            )
        known = {name: known[name]}
    made: list[Kernel | LeftOut] = []
    wrapped = {_plain(value) for key, value in known.items() if isinstance(value, JITImpl)}
    for key, value in known.items():
        if key in wanted:
            made += [_called(value, call) for call in wanted[key]]
        elif not (isinstance(value, FunctionType) and value in wrapped):
            made.append(_by_defaults(key, value))
    return made


def _kernel_in(value: Any, module: ModuleType) -> Any:
    """A T.prim_func, something under tilecore.jit, or what could be put under it, if the file defines it."""
    value = getattr(value, "__dict__", {}).get("jit_impl", value)  # under tilecore.autotune
    if isinstance(value, FunctionType):
        own = value.__globals__ is vars(module)
        if own and is_eager(value):
            return JITImpl(value, {})
        own = own and is_factory(value)
    else:
        own = isinstance(value, (PrimFunc, JITImpl)) and _plain(value).__globals__ is vars(module)
    return value if own else None


def _plain(value: Any) -> FunctionType:
    inner = value.func if isinstance(value, JITImpl) else value
    return inner.function if isinstance(inner, PrimFunc) else inner


def _calls(module: ModuleType, calls: Sequence[str], known: Mapping[str, Any]) -> dict[str, list[Call]]:
    """The calls by the name that they call; those of the user win over the file's."""
    found: dict[str, list[Call]] = {}
    own = getattr(module, HOOK, ())
    if isinstance(own, str) or not all(isinstance(text, str) for text in own):
        raise ArgumentError(f"{HOOK} of {module.__file__}", found=repr(own)[:80], expected='["name(1024, 1024)", ...]')
    for texts in (calls, own):
        here: dict[str, list[Call]] = {}
        for text in texts:
            call = parse_call(text, vars(module))
            if call.name not in known:
                raise ArgumentError(
                    f"{module.__file__} has no kernel {call.name!r}", found=text, expected=", ".join(known)
                )
            here.setdefault(call.name, []).append(call)
        found = {**here, **found}
    return found


def _by_defaults(name: str, value: Any) -> Kernel | LeftOut:
    if _takes_none(value):
        return _called(value, Call(name, (), {}, name))
    missing, given = _of_eager(value) if _is_eager(value) else (_missing(signature_of(_plain(value))), {})
    if missing:
        example = ", ".join(f"{one}=..." for one in missing)
        return LeftOut(
            name,
            f"it needs {', '.join(missing)}",
            f'--call "{name}({example})", or {HOOK} = ["{name}(...)"] in the file',
        )
    return _called(value, Call(name, (), given, f"{name}()"))


def _takes_none(value: Any) -> bool:
    return isinstance(value, PrimFunc) or (isinstance(value, JITImpl) and value.mode == "kernel")


def _is_eager(value: Any) -> bool:
    return isinstance(value, JITImpl) and value.mode == "eager"


def _missing(signature: inspect.Signature) -> list[str]:
    """Parameters that a call must give."""
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, p in signature.parameters.items() if p.default is p.empty and p.kind not in stars]


def _of_eager(value: JITImpl) -> tuple[list[str], dict[str, Any]]:
    """What a call of an eager function must give: values, and T.const sizes by their names; and the types of tensors
    whose annotation says all of their sizes. Tensors that the body declares need not be given."""
    function = _plain(value)
    annotations = evaluate_strings(function, annotations_of(function), None)
    tensors = {name: kind for name, kind in annotations.items() if isinstance(kind, TensorType)}
    declared, sizes = declarations(function)
    missing = [name for name in _missing(value.signature) if name not in tensors and name not in declared]
    given = {name: kind for name, kind in tensors.items() if all(isinstance(size, int) for size in kind.shape)}
    return [*missing, *sizes], given


def _called(value: Any, call: Call) -> Kernel | LeftOut:
    settings = value.settings if isinstance(value, JITImpl) else {}
    if _takes_none(value):
        return Kernel(call.name, lambda changes: ir_of(_prim_func(value)), settings)
    try:
        bound = _bound(value, call)
    except TypeError as error:
        return LeftOut(call.text, f"the call does not fit: {error}", f'--call "{call.name}(...)" with its arguments')
    bound.apply_defaults()
    defaults = {n for n, p in signature_of(_plain(value)).parameters.items() if p.default is not p.empty}

    def make(changes: Mapping[str, Any]) -> Any:
        arguments = {**bound.arguments, **changes}
        again = inspect.BoundArguments(bound.signature, arguments)  # type: ignore[arg-type]
        made = (
            value.get_tir(*again.args, **again.kwargs)
            if isinstance(value, JITImpl)
            else value(*again.args, **again.kwargs)
        )
        return ir_of(_prim_func(made))

    return Kernel(call.text, make, settings, {n: v for n, v in bound.arguments.items() if n in defaults and _varies(v)})


def _bound(value: Any, call: Call) -> inspect.BoundArguments:
    """Raises TypeError for a call that does not fit. Of an eager function tensors may be left out."""
    if _is_eager(value):
        return value.call_signature(call.kwargs).bind_partial(*call.args, **call.kwargs)
    return signature_of(_plain(value)).bind(*call.args, **call.kwargs)


def _varies(value: Any) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool) and type(value).__module__ == "builtins"
    return (is_number and value > 0) or (isinstance(value, str) and str(value) in FACTS)


def _prim_func(made: Any) -> Any:
    if isinstance(made, JITImpl):
        if made.mode != "kernel":
            raise LanguageError(f"{made!r} is no kernel yet", expected="a function decorated with @T.prim_func")
        return made.func
    return made
