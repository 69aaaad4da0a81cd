"""Runs a rewritten function against a builder: the step from Python to tile IR."""

from __future__ import annotations

import json
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, Location, TilecoreError
from tilecore.frontend import hooks
from tilecore.frontend.python_errors import explained, foreign_hint
from tilecore.frontend.reducer_order import order_reducers
from tilecore.frontend.rewrite import rewrite
from tilecore.frontend.scopes import check_scopes
from tilecore.frontend.settle import settle
from tilecore.frontend.signature import annotations_as_written, check_parameters, definition_of, place_of_argument
from tilecore.frontend.thread_conditions import gather_collectives
from tilecore.interrupts import held_back
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.nodes import PrimFunc, Var
from tilecore.ir.spans import span_at
from tilecore.language.annotations import PtrType, Ref, TensorType
from tilecore.language.arithmetic import NoPythonNumberError
from tilecore.language.buffers import BufferHandle, reference
from tilecore.language.conversions import ir_dtype
from tilecore.language.pointers import Pointer
from tilecore.language.symbols import Var as VarType
from tilecore.language.tensor_variables import tensor_var
from tilecore.signatures import signature_of
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import building, current
from tilecore.tracing.vectors import lanes_as_axes

_NOT_RUN = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def build_prim_func(function: FunctionType, annotations: dict[str, Any]) -> PrimFunc:
    """The tile IR of a function whose parameters are all annotated."""
    builder = Builder(function.__name__)
    place = definition_of(function)
    params: list[Var | Pointer] = []
    values: list[Any] = []
    check_parameters(function, keyword_only=False)
    for name in signature_of(function).parameters:
        if name not in annotations:
            raise LanguageError(
                f"parameter {name!r} of {function.__name__} has no annotation",
                location=place_of_argument(function, name),
                expected=f"{name}: T.Tensor(shape, dtype), or {name}: T.int32 for a scalar",
            )
        try:
            var, value = parameter_of(builder, name, annotations[name])
        except LanguageError as error:
            raise error.at(place_of_argument(function, name)) from None
        params.append(var)
        values.append(value)
    if run(builder, function, values) is not None:
        raise LanguageError(
            f"{function.__name__} returns a value, but a T.prim_func has no results",
            location=place,
            expected="results stored to tensors that are parameters",
            hint="remove the `return`; @tilecore.jit(out_idx=[-1]) returns such tensors to the caller",
        )
    try:
        return finish(builder, [p.declared() if isinstance(p, Pointer) else p for p in params], place)
    except LanguageError as error:
        raise error.at(place) from None


def parameter_of(builder: Builder, name: str, annotation: Any) -> tuple[Var | Pointer, Any]:
    """The IR parameter for an annotation, and what the function's body gets for it."""
    var, value = _parameter_of(builder, name, annotation)
    builder.parameters.append(value)
    return var, value


def _parameter_of(builder: Builder, name: str, annotation: Any) -> tuple[Var | Pointer, Any]:
    if annotation in (int, float, bool):
        annotation = DType(annotation)
    if isinstance(annotation, TensorType):
        buffer = tensor_var(builder.unique(name), annotation)
        if annotation.of_pointers:
            builder.pointers[str(buffer.name)] = "table"
        return buffer, BufferHandle(buffer, annotation.lanes)
    if isinstance(annotation, DType):
        var = Var(builder.unique(name), ir_dtype(annotation))
        return var, var
    if isinstance(annotation, Var):
        builder.unique(str(annotation.name))
        return annotation, annotation
    if isinstance(annotation, PtrType) or annotation is PtrType or type(annotation).__name__ == "_Handle":
        pointer = Pointer(builder.unique(name), annotation if isinstance(annotation, PtrType) else PtrType())
        builder.pointers[pointer.name] = "address"
        return pointer, pointer
    if type(annotation).__name__ == "_TensorFactory":
        raise LanguageError(f"parameter {name!r}: {annotation} needs a shape", expected=f"{annotation}(shape, dtype)")
    raise LanguageError(
        f"the annotation of parameter {name!r} is not a type of the language",
        found=repr(annotation)[:80],
        expected="T.Tensor(shape, dtype), T.StridedTensor(shape, strides, dtype), or an element type such as T.int32",
    )


def run(builder: Builder, function: FunctionType, values: list[Any], named: dict[str, Any] | None = None) -> Any:
    """Run the function's body, which emits statements to ``builder``."""
    if function.__code__.co_flags & _NOT_RUN:
        raise LanguageError(
            f"{function.__name__} is a generator or a coroutine, and a call does not run its body",
            location=definition_of(function),
            expected="a function without `yield` and `async`",
            hint="store the results to tensors",
        )
    rewritten = rewrite(function, hooks)
    with held_back(), building(builder):
        try:
            result = rewritten(*values, **(named or {}))
            builder.check_lost(1)
            return result
        except TilecoreError as error:
            if isinstance(error, NoPythonNumberError):  # math.exp(x) and the like
                error.hint = foreign_hint(builder.location) or error.hint
            raise
        except Exception as error:
            instead = explained(error, builder)
            if instead is None:
                raise
            raise instead.with_traceback(error.__traceback__) from error


def finish(builder: Builder, params: list[Var], place: Location) -> PrimFunc:
    """The PrimFunc of everything built. place: where the user's definition begins."""
    body = builder.frames[0].body()
    check_scopes(body, builder.readings)
    body = gather_collectives(order_reducers(settle(body, builder)))
    if builder.lanes:
        body = lanes_as_axes(body)
    function = PrimFunc(params, body, span=span_at(place))
    function = function.with_attr("global_symbol", builder.name)
    if builder.pointers:
        function = function.with_attr(FunctionAttr.POINTERS, dict(builder.pointers))
    for key, value in builder.attributes.items():
        if key == "compile_flags":
            function = function.with_attr(FunctionAttr.COMPILE_FLAGS, [str(v) for v in value])
        elif key == "pass_configs":
            function = function.with_attr(FunctionAttr.PASS_CONFIGS, json.dumps(value, sort_keys=True))
    return function


def call_macro(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Build a macro's body at the current place; the place is the caller's again afterwards."""
    builder = current(f"T.macro {function.__name__}")
    place = builder.place
    depth = builder.return_depth
    builder.return_depth = len(builder.frames)
    try:
        args, kwargs = _by_reference(function, args, kwargs)
        return rewrite(function, hooks)(*args, **kwargs)
    finally:
        builder.return_depth = depth
        if builder.frames and _no_error_is_raised():
            builder.place = place


def _by_reference(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments of a macro: the variable itself for a parameter that is a T.Ref; of others the value."""
    references = [name for name, kind in annotations_as_written(function).items() if _is_ref(kind)]
    if not references:
        return args, kwargs
    try:
        arguments = signature_of(function).bind(*args, **kwargs)
    except TypeError:  # Python says it better, at the call
        return args, kwargs
    for name in references:
        if name in arguments.arguments:
            arguments.arguments[name] = reference(arguments.arguments[name], f"{function.__name__}({name}: T.Ref)")
    return arguments.args, arguments.kwargs


def _is_ref(annotation: Any) -> bool:
    """Is it T.Ref, or T.Var, which is an older name of it?"""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] in ("Ref", "Var")
    return annotation is Ref or annotation is VarType


def _no_error_is_raised() -> bool:
    """Is no exception being raised? Otherwise the place stays in the macro, at which the error must point."""
    import sys

    return sys.exc_info()[0] is None
