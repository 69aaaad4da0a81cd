"""Runs a rewritten function against a builder: the step from Python to tile IR."""

from __future__ import annotations

import json
from collections.abc import Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

from tilecore.errors import LanguageError, Location, TilecoreError
from tilecore.frontend import hooks
from tilecore.frontend.declarations import Declarations, Output, Undeclared, parameter_of
from tilecore.frontend.fragment_extents import cover_indices
from tilecore.frontend.parallel_races import warn_of_races
from tilecore.frontend.python_errors import explained, foreign_hint
from tilecore.frontend.reducer_order import order_reducers
from tilecore.frontend.rewrite import rewrite
from tilecore.frontend.scopes import check_scopes
from tilecore.frontend.settle import settle
from tilecore.frontend.signature import annotations_as_written, check_parameters, definition_of, place_of_argument
from tilecore.frontend.thread_conditions import gather_collectives
from tilecore.frontend.undefined_sizes import check_sizes
from tilecore.interrupts import held_back
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.nodes import PrimFunc, Var
from tilecore.ir.spans import span_at
from tilecore.language.annotations import Ref
from tilecore.language.arithmetic import NoPythonNumberError
from tilecore.language.buffers import reference
from tilecore.language.implicit_kernel import begin_implicit, closed_function
from tilecore.language.symbols import Var as VarType
from tilecore.signatures import signature_of
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import building, current, without_builder
from tilecore.tracing.vectors import lanes_as_axes

_NOT_RUN = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def build_prim_func(function: FunctionType, annotations: dict[str, Any]) -> PrimFunc:
    """The tile IR of a T.prim_func. The signature annotates its parameters, or the body declares them."""
    builder = Builder(function.__name__)
    place = definition_of(function)
    values: list[Any] = []
    check_parameters(function, keyword_only=False)
    names = tuple(signature_of(function).parameters)
    declarations = Declarations(function, builder, names)
    for name in names:
        if name not in annotations:
            values.append(Undeclared(name))
            continue
        try:
            declarations.params[name], value = parameter_of(builder, name, annotations[name])
        except LanguageError as error:
            raise error.at(place_of_argument(function, name)) from None
        values.append(value)
    outputs = declarations.returned(run(builder, function, values), place)
    for name in names:
        if name not in declarations.params:
            raise LanguageError(
                f"parameter {name!r} of {function.__name__} has no annotation",
                location=place_of_argument(function, name),
                expected=f"{name}: T.Tensor(shape, dtype), or {name}: T.int32 for a scalar, here or in the body",
            )
    try:
        return finish(builder, declarations.parameters(), place, outputs)
    except LanguageError as error:
        raise error.at(place) from None


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
    builder.begin_kernel = begin_implicit
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


def finish(builder: Builder, params: list[Var], place: Location, outputs: Sequence[Output] = ()) -> PrimFunc:
    """The PrimFunc of everything built. place: where the user's definition begins. outputs: further parameters, which a
    call allocates and returns."""
    with without_builder():  # the body of another function may build this one
        return _finished(builder, params, place, outputs)


def _finished(builder: Builder, params: list[Var], place: Location, outputs: Sequence[Output]) -> PrimFunc:
    params = [*params, *(output.buffer for output in outputs)]
    if builder.checked_preconditions < len(builder.preconditions):
        builder.place, name, _ = builder.preconditions[-1]
        raise LanguageError(
            f"T.{name} stands behind the last T.Kernel",
            location=builder.location,
            expected="a T.Kernel after it, which checks it",
            hint="write it in front of T.Kernel, or inside",
        )
    body = closed_function(builder)
    check_scopes(body, builder.readings)
    body = order_reducers(cover_indices(settle(body, builder)))
    warn_of_races(body)
    body = gather_collectives(body)
    if builder.lanes:
        body = lanes_as_axes(body)
    function = PrimFunc(params, body, span=span_at(place))
    check_sizes(function, place)
    function = function.with_attr("global_symbol", builder.name)
    if outputs:
        function = function.with_attr(FunctionAttr.OUT_IDX, list(range(-len(outputs), 0)))
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
