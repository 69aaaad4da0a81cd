"""The annotations of a function's parameters, also when they are strings (``from __future__ import annotations``)."""

from __future__ import annotations

from types import FrameType, FunctionType
from typing import Any

from tilecore.errors import LanguageError, Location, TilecoreError
from tilecore.frontend.source import parse_function
from tilecore.nearest import did_you_mean
from tilecore.signatures import signature_of


def annotations_of(function: FunctionType) -> dict[str, Any]:
    """Parameter annotations; strings where they have not been evaluated.

    Python 3.14 evaluates them here. (``inspect.get_annotations`` would lose the errors of the language that are
    NotImplementedErrors, too: to it they say that a function has no annotations.)
    """
    return dict(function.__annotations__)


def annotations_as_written(function: FunctionType) -> dict[str, Any]:
    """``annotations_of``, or all of them as strings where Python 3.14 cannot evaluate one, for example because it uses
    a name that is imported for type checkers only."""
    try:
        return annotations_of(function)
    except NameError:
        return {name: parameter.annotation for name, parameter in signature_of(function).parameters.items()}


def evaluate_strings(function: FunctionType, annotations: dict[str, Any], caller: FrameType | None) -> dict[str, Any]:
    """Evaluate string annotations where the function was defined.

    A name that only annotations use is in no closure, so the frame that runs the decorator is searched too.
    """
    if not any(type(a) is str for a in annotations.values()):
        return annotations
    names: dict[str, Any] = {}
    frame = caller
    while frame is not None and frame.f_code.co_name != "<module>":
        names = {**frame.f_locals, **names}
        if frame.f_globals is not function.__globals__:
            break
        frame = frame.f_back
        if function.__qualname__.count("<locals>") <= 1:
            break
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    evaluated = {}
    for name, annotation in annotations.items():
        if type(annotation) is str:  # an element type is a string too
            try:
                annotation = eval(annotation, function.__globals__, names)
            except TilecoreError as error:
                error.location = place_of_argument(function, name)
                raise
            except Exception as error:
                raise LanguageError(
                    f"the annotation of parameter {name!r} cannot be evaluated: {error}",
                    location=place_of_argument(function, name),
                    found=annotation,
                    hint=_hint_on_name(error, [*names, *function.__globals__])
                    if isinstance(error, NameError)
                    else None,
                ) from error
        evaluated[name] = annotation
    return evaluated


def _hint_on_name(error: NameError, known: list[str]) -> str:
    """What to do about a name that an annotation's text uses. known: the names that it can use."""
    meant = did_you_mean(error.name, known)
    return meant or (
        "`from __future__ import annotations` makes annotations strings, which cannot see variables of functions that "
        "have returned: use the name in the function's body too, or remove that import"
    )


def place_of_argument(function: FunctionType, name: str) -> Location:
    """Where a parameter stands in the function's definition."""
    try:
        file, definition = parse_function(function)
    except (LanguageError, SyntaxError):
        return definition_of(function)
    arguments = definition.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in every:
        if argument is not None and argument.arg == name:
            first, last = argument.col_offset, argument.end_col_offset
            return Location(file, argument.lineno, first, argument.end_lineno, last)
    return definition_of(function)


def check_parameters(function: FunctionType, keyword_only: bool) -> None:
    """Raises LanguageError for a parameter that a kernel cannot have. keyword_only: it may have those behind `*`, and
    `**options`, which are values known when compiling."""
    for name, parameter in signature_of(function).parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL or (parameter.kind == parameter.VAR_KEYWORD and not keyword_only):
            stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
            raise LanguageError(
                f"{stars}{name} cannot be a parameter of the kernel {function.__name__}",
                location=place_of_argument(function, name),
                expected="named parameters, each a tensor or a number",
                hint="define the kernel in a function that takes the list: it can build one kernel for each length",
            )
        if parameter.kind == parameter.KEYWORD_ONLY and not keyword_only:
            raise LanguageError(
                f"parameter {name!r} of {function.__name__} is keyword-only",
                location=place_of_argument(function, name),
                expected="positional parameters",
                hint="remove the `*` before it",
            )


def definition_of(function: FunctionType) -> Location:
    """The line at which a function's definition, decorators included, begins."""
    return Location(function.__code__.co_filename, function.__code__.co_firstlineno)
