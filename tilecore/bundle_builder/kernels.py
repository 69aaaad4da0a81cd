"""Makes of a function and the arguments of its call a kernel that is to be compiled for a bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.artifact.records import Artifact
from tilecore.bundle_builder.eager_forms import forms_of, with_tensors
from tilecore.bundles.argument_texts import argument_text, has_text, on_one_line, text_with_contents
from tilecore.bundles.format import Argument
from tilecore.compilation_cache.source_key import source_key
from tilecore.errors import ArgumentError, TilecoreError
from tilecore.frontend.function import PrimFunc
from tilecore.jit.call_text import argument_list
from tilecore.jit.compile import ir_of
from tilecore.jit.eager_call import arguments_of
from tilecore.jit.impl import JITImpl
from tilecore.language.annotations import TensorType

if TYPE_CHECKING:
    from tilecore.jit.request import Request

Call = tuple[Any, tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class DeclaredKernel:
    """A kernel to compile.

    name: of the function. label: the call. arguments: in the order of the parameters. make_ir: builds its tile IR.
    keys: the keys by which programs find the compiled kernel from its source. settings: of its ``tilecore.jit``. call:
    the function itself, and the arguments as they were given. forms: as those of a
    :class:`~tilecore.bundles.format.KernelRecord`, of the compiled kernel. of_request: the kernel for a target, where
    it differs between targets; it raises TilecoreError where there is none. problem: why it cannot be compiled, where
    that is known before it is tried.
    """

    name: str
    label: str
    arguments: tuple[Argument, ...]
    make_ir: Callable[[], Any]
    keys: Callable[[Request, Artifact], list[str]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    call: Call = (None, (), {})
    forms: Callable[[Artifact], tuple[tuple[Argument, ...], ...]] = lambda artifact: ()
    of_request: Callable[[Request], DeclaredKernel] | None = None
    problem: TilecoreError | None = None


def kernel_of(value: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> DeclaredKernel:
    """The kernel of a call. value: a function under ``tilecore.jit``, ``tilecore.autotune`` or ``T.prim_func``, or one
    that returns a T.prim_func. Raises ArgumentError where the arguments do not fit."""
    kernel = without_tuning(value)
    if kernel is not value:
        from tilecore.bundle_builder.tuned import is_tuned, tuned_kernel  # most files have none

        if is_tuned(value):
            return tuned_kernel(value, name, args, dict(kwargs))
    return kernel_of_jit(kernel, name, args, kwargs)


def kernel_of_jit(value: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> DeclaredKernel:
    """As :func:`kernel_of`, of a function that is not autotuned, or whose configuration is among the arguments."""
    if isinstance(value, FunctionType):
        value = JITImpl(value, {})
    if isinstance(value, PrimFunc) or (isinstance(value, JITImpl) and value.mode == "kernel"):
        if args or kwargs:
            raise ArgumentError(
                f"the kernel {name} takes no arguments", found=label_of(name, args, kwargs), expected=f"yield {name}"
            )
        function = value.func if isinstance(value, JITImpl) else value
        settings = value.settings if isinstance(value, JITImpl) else {}
        return DeclaredKernel(
            name, name, (), lambda: ir_of(function), lambda request, artifact: [], settings, (function, (), {})
        )
    if value.mode == "eager":
        return _eager(value, name, args, dict(kwargs))
    return _lazy(value, name, args, dict(kwargs))


def refused_kernel(name: str, label: str, problem: TilecoreError, settings: Mapping[str, Any]) -> DeclaredKernel:
    """A kernel that was declared and cannot be compiled: ``problem`` says why."""

    def make_ir() -> Any:
        raise problem

    return DeclaredKernel(
        name, label, (), make_ir, lambda request, artifact: [], settings, (problem, (), {}), problem=problem
    )


def label_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The call as text, whole: ``matmul(200, 100, K=300)``."""
    return on_one_line(f"{name}({', '.join(argument_list(args, kwargs, argument_text))})")


def without_tuning(value: Any) -> Any:
    """The function under ``tilecore.jit`` in what other decorators make of it; other values as they are."""
    return getattr(value, "__dict__", {}).get("jit_impl", value)


def plain_function(value: Any) -> FunctionType:
    """The Python function behind the decorators."""
    inner = without_tuning(value)
    inner = inner.func if isinstance(inner, JITImpl) else inner
    function: FunctionType = inner.function if isinstance(inner, PrimFunc) else inner
    return function


def _lazy(value: JITImpl, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DeclaredKernel:
    """The kernel of a function that returns a T.prim_func."""
    bound = arguments_of(name, value.signature, args, kwargs)

    def keys(request: Request, artifact: Artifact) -> list[str]:
        source = source_key(value.func, args, kwargs)
        return [] if source is None else [request.portable_key("source", source.portable)]

    return DeclaredKernel(
        name,
        label_of(name, args, kwargs),
        _arguments(bound.arguments, value.signature.parameters),
        lambda: value.get_tir(*args, **kwargs),
        keys,
        value.settings,
        (value.func, args, kwargs),
    )


def _eager(value: JITImpl, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DeclaredKernel:
    """The kernel of a function whose body is the kernel; tensors may be left out where sizes are given by name."""
    eager = value.eager_kernel()
    call = eager.call_of(args, kwargs)
    sizes: dict[str, int] = {}

    def make_ir() -> Any:
        elaborated = eager.elaborated(call)
        sizes.update(elaborated.sizes)
        return elaborated.func

    def keys(request: Request, artifact: Artifact) -> list[str]:
        found = []
        for one in (call, with_tensors(call, artifact)):
            source, facts = (None, {}) if one is None else eager.source_of(one)
            if source is not None:
                found.append(request.portable_key("source", source.portable, **facts))
        return list(dict.fromkeys(found))

    arguments = _arguments(call.given(), value.signature.parameters)
    return DeclaredKernel(
        name,
        label_of(name, args, kwargs),
        arguments,
        make_ir,
        keys,
        value.settings,
        (value.func, (), {name: _comparable(one) for name, one in call.given().items()}),
        lambda artifact: forms_of(call, arguments, sizes, artifact),
    )


def _comparable(value: Any) -> Any:
    """An argument of an eager function: a tensor as the text of its type, which is all that tells kernels apart."""
    return argument_text(value) if isinstance(value, TensorType) else value


def _arguments(values: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The arguments as text; ``default`` where the value is the parameter's default."""
    arguments = []
    for name, value in values.items():
        default = parameters[name].default if name in parameters else parameters
        has_default = name in parameters and default is not parameters[name].empty
        text = text_with_contents(value)
        arguments.append(Argument(name, text, has_default and (value is default or has_text(default, text))))
    return tuple(arguments)
