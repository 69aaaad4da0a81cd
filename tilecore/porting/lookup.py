"""Looks up modules and names in tilecore itself and in the installed TVM, so that no second list can be out of date."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from tilecore.errors import TilecoreError
from tilecore.nearest import did_you_mean
from tilecore.porting import tvm_names

MISSING = object()
Answer = tuple[str, str]  # what is wrong, and what to write instead or ""


def missing_module(path: tuple[str, ...]) -> Answer | None:
    """Why ``import tilecore.<path>`` fails; None where it does not."""
    if path[:1] == ("tvm",):
        return tvm_names.missing(path)
    try:
        import_module(".".join(["tilecore", *path]))
    except Exception as error:
        return parts(error)
    return None


def missing_name(path: tuple[str, ...], name: str) -> Answer | None:
    """Why ``from tilecore.<path> import name`` fails, where ``tilecore.<path>`` is a module; None where it does not."""
    if path[:1] == ("tvm",):
        return tvm_names.missing((*path, name))
    module = import_module(".".join(["tilecore", *path]))
    try:
        getattr(module, name)
    except Exception as missing:
        try:
            import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            return parts(missing)
        except Exception as error:
            return parts(error)
    return None


def value_of(path: tuple[str, ...]) -> tuple[Any, Answer | None]:
    """What ``tilecore.<path>`` is, and None; or why its use fails. Attributes of objects that are neither modules nor
    classes are not looked up."""
    if path[0] == "tvm":
        return MISSING, tvm_names.missing(path)
    value: Any = import_module("tilecore")
    for word in path:
        if not isinstance(value, (ModuleType, type)):
            return MISSING, None
        try:
            value = getattr(value, word)
        except Exception as missing:
            if not isinstance(value, ModuleType):
                return MISSING, _missing_of_class(value, word, missing)
            try:
                value = import_module(f"{value.__name__}.{word}")
            except ModuleNotFoundError:
                return MISSING, parts(missing)
            except Exception as error:
                return MISSING, parts(error)
    return value, None


def _missing_of_class(owner: type, word: str, error: Exception) -> Answer:
    """Python's own errors, which are "SQUAR" for an enumeration, are put into words."""
    if str(error) != word and not str(error).startswith("type object "):
        return parts(error)
    return f"{owner.__module__}.{owner.__name__} has no attribute {word!r}", did_you_mean(word, dir(owner)) or ""


def is_attribute(path: str) -> bool:
    """Whether ``tilecore.<path>`` is there once tilecore itself is imported, without an import of its own."""
    from tilecore import __all__ as public
    from tilecore.plugins.module_finder import is_module

    first, _, rest = path.partition(".")
    if rest and first in public and not isinstance(value_of((first,))[0], ModuleType):
        return False  # ``tilecore.jit`` is the decorator
    return path in public or is_module(path)


def parts(error: Exception) -> Answer:
    """What is wrong and what to write, of an error of tilecore's or of Python's."""
    if isinstance(error, TilecoreError):
        return error.message, error.hint or ""
    problem, separator, instead = str(error).partition("; instead: ")
    if not separator:
        problem, separator, instead = str(error).partition("; did you mean ")
        instead = f"did you mean {instead}" if separator else ""
    return problem, instead
