"""Finds the kernels that a file declares, each with the arguments of its call.

The file's function ``tilecore_kernels()`` yields them: calls as text, or pairs of a function and its arguments. Without
it they are the kernels that need no arguments: those under ``@T.prim_func``, and functions whose parameters all have
defaults. ``--call`` replaces both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tilecore.artifact.records import Artifact, TensorParam
from tilecore.bundle_builder.user_code import EXAMPLE, HOOK, declared_items
from tilecore.bundles.argument_texts import argument_text, has_text, on_one_line, text_with_contents
from tilecore.bundles.format import Argument
from tilecore.compilation_cache.source_key import source_key
from tilecore.errors import ArgumentError
from tilecore.frontend.function import PrimFunc
from tilecore.jit.compile import ir_of
from tilecore.jit.eager_call import LEFT_OUT, EagerCall, arguments_of
from tilecore.jit.factory_calls import call_of
from tilecore.jit.impl import JITImpl
from tilecore.language.annotations import TensorType
from tilecore.signatures import signature_of
from tilecore.target_report.calls import parse_calls
from tilecore.target_report.kernels import LeftOut, kernel_in, missing_arguments, takes_no_arguments

if TYPE_CHECKING:
    from tilecore.jit.request import Request


@dataclass(frozen=True)
class DeclaredKernel:
    """A kernel to compile.

    name: of the function. label: the call. arguments: in the order of the parameters. make_ir: builds its tile IR.
    keys: the keys by which programs find the compiled kernel from its source. settings: of its ``tilecore.jit``. call:
    the function itself, and the arguments as they were given.
    """

    name: str
    label: str
    arguments: tuple[Argument, ...]
    make_ir: Callable[[], Any]
    keys: Callable[[Request, Artifact], list[str]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    call: tuple[Any, tuple[Any, ...], Mapping[str, Any]] = (None, (), {})


def declared_kernels(
    module: ModuleType, name: str | None, calls: Sequence[str]
) -> tuple[list[DeclaredKernel], list[LeftOut]]:
    """The kernels of a module, those that were declared twice once; and those without known arguments.

    name: only the kernel of this name. calls: as the user wrote them; they replace what the module declares. Raises
    ArgumentError for names that are no kernel and calls that do not fit.
    """
    values = {key: kernel for key, value in vars(module).items() if (kernel := kernel_in(value, module)) is not None}
    hook = getattr(module, HOOK, None)
    left_out: list[LeftOut] = []
    if calls:
        declared = [kernel for text in calls for kernel in _called(text, module, values)]
    elif hook is not None:
        declared = [kernel for item in declared_items(hook, module) for kernel in _declared(item, module, values)]
    else:
        declared, left_out = _without_arguments(values)
    if name is not None:
        declared = [kernel for kernel in declared if kernel.name == name]
        left_out = [kernel for kernel in left_out if kernel.label == name]
        if not declared and not left_out:
            raise ArgumentError(
                f"{module.__file__} declares no kernel {name!r}", expected=", ".join(values) or "a file with kernels"
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


def _label(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The call as text, whole: ``matmul(200, 100, K=300)``."""
    values = [*map(argument_text, args), *(f"{key}={argument_text(value)}" for key, value in kwargs.items())]
    return on_one_line(f"{name}({', '.join(values)})")


def _without_arguments(values: Mapping[str, Any]) -> tuple[list[DeclaredKernel], list[LeftOut]]:
    wrapped = {_plain(value) for value in values.values() if isinstance(value, JITImpl)}
    declared, left_out = [], []
    for key, value in values.items():
        if isinstance(value, FunctionType) and value in wrapped:
            continue
        missing, tensor_types = missing_arguments(value)
        if missing:
            example = ", ".join(f"{parameter}=..." for parameter in missing)
            hint = f'--call "{key}({example})", or in the file: {EXAMPLE}'
            left_out.append(LeftOut(key, f"it needs {', '.join(missing)}", hint))
        else:
            declared.append(_kernel(value, key, (), tensor_types))
    return declared, left_out


def _called(text: str, module: ModuleType, values: Mapping[str, Any]) -> list[DeclaredKernel]:
    kernels = []
    for call in parse_calls(text, vars(module)):
        if call.name not in values:
            raise ArgumentError(
                f"{module.__file__} has no kernel {call.name!r}",
                found=text,
                expected=", ".join(values) or "a function that the file itself defines",
                hint=f"functions that the file imports are given by {HOOK}()",
            )
        kernels.append(_kernel(values[call.name], call.name, call.args, call.kwargs))
    return kernels


def _declared(item: Any, module: ModuleType, values: Mapping[str, Any]) -> list[DeclaredKernel]:
    """The kernels of one item of the file's hook."""
    if isinstance(item, str):
        return _called(item, module, values)
    function, arguments = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, ())
    kernel = getattr(function, "__dict__", {}).get("jit_impl", function)
    if not isinstance(kernel, (JITImpl, PrimFunc, FunctionType)):
        raise ArgumentError(
            f"{HOOK} of {module.__file__} gives something that is no kernel",
            found=repr(item)[:120],
            expected=f"a call as text, or a pair of a function and its arguments, as in {EXAMPLE}",
            hint="give the function and its arguments apart: a call compiles for this machine"
            if type(function).__name__ in ("JITKernel", "AbsentKernel")
            else None,
        )
    args, kwargs = call_of(arguments)
    return [_kernel(kernel, str(getattr(kernel, "__name__", None) or _plain(kernel).__name__), args, kwargs)]


def _kernel(value: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> DeclaredKernel:
    if takes_no_arguments(value):
        if args or kwargs:
            raise ArgumentError(
                f"the kernel {name} takes no arguments", found=_label(name, args, kwargs), expected=f"yield {name}"
            )
        function = value.func if isinstance(value, JITImpl) else value
        settings = value.settings if isinstance(value, JITImpl) else {}
        return DeclaredKernel(
            name, name, (), lambda: ir_of(function), lambda request, artifact: [], settings, (function, (), {})
        )
    if isinstance(value, JITImpl) and value.mode == "eager":
        return _eager(value, name, args, dict(kwargs))
    return _lazy(value, name, args, dict(kwargs))


def _lazy(value: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DeclaredKernel:
    """The kernel of a function that returns a T.prim_func, under tilecore.jit or not."""
    signature = signature_of(_plain(value))
    bound = arguments_of(name, signature, args, kwargs)
    is_jit = isinstance(value, JITImpl)

    def keys(request: Request, artifact: Artifact) -> list[str]:
        source = source_key(value.func, args, kwargs) if is_jit else None
        return [] if source is None else [request.portable_key("source", source.portable)]

    def make_ir() -> Any:
        return value.get_tir(*args, **kwargs) if is_jit else ir_of(value(*args, **kwargs))

    settings = value.settings if is_jit else {}
    arguments = _arguments(bound.arguments, signature.parameters)
    label, call = _label(name, args, kwargs), (_plain(value), args, kwargs)
    return DeclaredKernel(name, label, arguments, make_ir, keys, settings, call)


def _eager(value: JITImpl, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DeclaredKernel:
    """The kernel of a function whose body is the kernel; tensors may be left out where sizes are given by name."""
    eager = value.eager_kernel()
    call = eager.call_of(args, kwargs)

    def keys(request: Request, artifact: Artifact) -> list[str]:
        found = []
        for one in (call, _with_tensors(call, artifact)):
            source, facts = (None, {}) if one is None else eager.source_of(one)
            if source is not None:
                found.append(request.portable_key("source", source.portable, **facts))
        return list(dict.fromkeys(found))

    given = {**{name: kind for name, kind in call.types.items() if kind is not LEFT_OUT}, **call.constants}
    arguments = _arguments(given, value.signature.parameters)
    return DeclaredKernel(
        name,
        _label(name, args, kwargs),
        arguments,
        lambda: value.get_tir(*args, **kwargs),
        keys,
        value.settings,
        (value.func, args, kwargs),
    )


def _with_tensors(call: EagerCall, artifact: Artifact) -> EagerCall | None:
    """The call as programs make it, with contiguous tensors in place of sizes; None where a size is not known."""
    tensors = {}
    for number, param in enumerate(artifact.params):
        if isinstance(param, TensorParam) and number not in artifact.out_idx:
            if param.strides is not None or not all(isinstance(size, int) for size in param.shape):
                return None
            tensors[param.name] = TensorType(tuple(int(str(size)) for size in param.shape), _dtype(param.dtype), None)
    types = {name: tensors.get(name, kind) if kind is LEFT_OUT else kind for name, kind in call.types.items()}
    return EagerCall(types) if tensors and LEFT_OUT not in types.values() else None


def _dtype(name: str) -> Any:
    from tilecore.dtypes import dtype

    return dtype(name)


def _arguments(values: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The arguments as text; ``default`` where the value is the parameter's default."""
    arguments = []
    for name, value in values.items():
        default = parameters[name].default if name in parameters else parameters
        has_default = name in parameters and default is not parameters[name].empty
        text = text_with_contents(value)
        arguments.append(Argument(name, text, has_default and (value is default or has_text(default, text))))
    return tuple(arguments)


def _plain(value: Any) -> FunctionType:
    inner = value.func if isinstance(value, JITImpl) else value
    function: FunctionType = inner.function if isinstance(inner, PrimFunc) else inner
    return function
