"""Describes a function: its source, its state, and the present values of everything that it reads."""

from __future__ import annotations

import sys
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.key import foreign_dtype
from tilecore.compilation_cache.source import trust
from tilecore.compilation_cache.source.classes import static_attribute
from tilecore.compilation_cache.source.definitions import Definition, analyse
from tilecore.compilation_cache.source.text import ANNOTATIONS_FLAG, NotUnderstoodError

if TYPE_CHECKING:
    from tilecore.compilation_cache.source.scopes import Read
    from tilecore.compilation_cache.source.values import Describer

_MISSING = object()
_PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict)
# Pure modules that hold names which are not: taken name by name only.
_MIXED = ("tilecore", "functools", "operator", "typing", "types")


def describe_function(describer: Describer, function: FunctionType, *, signature: bool = False) -> None:
    """Source, code, defaults, state and reads. signature: its annotations are read too, by who runs it."""
    if describer.again(function):
        return
    definition = analyse(function, describer.notes)
    describer.watch.parts(lambda: (function.__code__, function.__defaults__, function.__kwdefaults__))
    describer.tag(b"F", definition.digest)
    place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    describer.places.append(place)
    if definition.tells_places:
        describer.tag(b"L", place)
    describer.value(function.__defaults__)
    describer.mapping(function.__kwdefaults__ or {})
    describer.mapping(function.__dict__)
    reads = definition.body
    if signature:
        reads += _annotations(describer, function, definition)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for read in reads:
        _read(describer, function, cells, read)
    named = {read.name for read in reads}
    for name, cell in cells.items():
        if name not in named:
            _chain(describer, cell, ("cell_contents",))


def describe_decorated(describer: Describer, value: Any, wrapped: FunctionType) -> None:
    """Describe the object that a decorator of tilecore made from a function: a macro or a kernel.

    Its public attributes are described beside the function. A private one that is set may have been made from the
    function before something that it reads changed, and so may have what went into the decorator.
    """
    kind = type(value)
    definition = analyse(wrapped, describer.notes)
    if not definition.constant_decorators:
        raise NotUnderstoodError(f"the decorator of {wrapped.__name__} has arguments that are not constants")
    describer.tag(b"W", f"{kind.__module__}.{kind.__qualname__}")
    state = {n: v for n, v in vars(value).items() if not n.startswith("__") and v is not wrapped}
    describer.watch.mapping(vars(value))
    if any(name.startswith("_") and attribute is not None for name, attribute in state.items()):
        raise NotUnderstoodError(f"{wrapped.__name__} has been built already")
    describer.mapping(state)
    for read in definition.decorators:
        _read(describer, wrapped, {}, read)
    describe_function(describer, wrapped, signature=True)


def _annotations(describer: Describer, function: FunctionType, definition: Definition) -> tuple[Read, ...]:
    """Describe the annotations as they were evaluated; returns what the quoted ones read."""
    try:
        annotations = function.__annotations__
    except Exception as error:
        raise NotUnderstoodError(f"the annotations of {function.__name__} cannot be evaluated: {error}") from None
    describer.mapping(annotations)
    if not function.__code__.co_flags & ANNOTATIONS_FLAG and not any(type(a) is str for a in annotations.values()):
        return ()
    if "<locals>" in function.__qualname__:
        # what the body reads as a global is none of the enclosing function's locals
        outer_names = {*function.__code__.co_freevars, *(read.name for read in definition.body)}
        for read in definition.signature:
            if read.name not in outer_names:
                raise NotUnderstoodError(f"{read.name} in an annotation may be a local of the caller")
    return definition.signature


def _read(describer: Describer, function: FunctionType, cells: dict[str, CellType], read: Read) -> None:
    if read.module is not None:
        module = sys.modules.get(read.module)
        describer.watch.entry(sys.modules, read.module)
        if module is None:
            _unloaded(describer, read.module, read.attributes)
        else:
            _chain(describer, module, read.attributes, read.order_free)
    elif read.name in cells:
        _chain(describer, cells[read.name], ("cell_contents", *read.attributes), read.order_free)
    elif read.name in function.__globals__:
        describer.watch.entry(function.__globals__, read.name)
        _chain(describer, function.__globals__[read.name], read.attributes, read.order_free)
    else:
        _builtin(describer, function, read.name)


def _builtin(describer: Describer, function: FunctionType, name: str) -> None:
    scope = function.__globals__.get("__builtins__", {})
    namespace = scope if isinstance(scope, dict) else vars(scope)
    describer.watch.entry(function.__globals__, name)
    describer.watch.entry(namespace, name)
    value = namespace.get(name, _MISSING)
    if value is _MISSING and describer.in_process:
        describer.tag(b"BM", name)  # no such name, and that is watched: perhaps what reads it is not run
        return
    if value is _MISSING:
        raise NotUnderstoodError(f"{name} is not defined")
    if value is not trust.PURE_BUILTINS.get(name, _MISSING):
        raise NotUnderstoodError(f"builtin {name} may read something that is not an argument")
    describer.tag(b"B", name)


def _unloaded(describer: Describer, module: str, attributes: tuple[str, ...]) -> None:
    if not attributes or trust.policy(module) != "pure" or not trust.is_pure_name(module, attributes[0]):
        raise NotUnderstoodError(f"module {module} is imported by the function and is not loaded yet")
    describer.tag(b"M", f"{module}:{'.'.join(attributes)}")


def _chain(describer: Describer, value: Any, attributes: tuple[str, ...], order_free: bool = False) -> None:
    """Describe what ``value.attribute.attribute...`` can give."""
    for index, name in enumerate(attributes):
        if type(value) is ModuleType or isinstance(value, ModuleType):
            value = _of_module(describer, value, name, attributes[index + 1 :])
        elif type(value) is CellType:
            value = _of_cell(describer, value)
        else:
            value = _of_object(describer, value, name)
        if value is _MISSING:
            return
    if not isinstance(value, ModuleType):
        describer.value(value, order_free)
    elif trust.policy(value.__name__) == "pure" and value.__name__ not in _MIXED:
        describer.tag(b"M", value.__name__)
    else:
        raise NotUnderstoodError(f"module {value.__name__} is used as a value")


def _of_module(describer: Describer, module: ModuleType, name: str, rest: tuple[str, ...]) -> Any:
    """The attribute, to go on with; or _MISSING when it has been described, rest of the chain included."""
    module_name = module.__name__
    if any(name in vars(kind) for kind in type(module).__mro__[:-2]):  # the module's class computes it
        raise NotUnderstoodError(f"{module_name}.{name} is made on demand")
    value = vars(module).get(name, _MISSING)
    policy = trust.policy(module_name)
    if policy != "pure":  # whose names mean what they mean, and are loaded when they are first used
        describer.watch.entry(vars(module), name)
    if value is _MISSING:
        value = sys.modules.get(f"{module_name}.{name}", _MISSING)
        describer.watch.entry(sys.modules, f"{module_name}.{name}")
    if isinstance(value, ModuleType):
        return value
    if policy == "pure":
        return _of_pure_module(describer, module, name, value, rest)
    if value is _MISSING:
        raise NotUnderstoodError(f"{module_name}.{name} is made on demand, or missing")
    if policy == "listed" and trust.is_listed(module, name, value):
        describer.tag(b"M", ":".join((module_name, name, *rest, getattr(module, "__version__", ""))))
        return _MISSING
    if policy != "user" and type(value) not in _PLAIN and foreign_dtype(value) is None:
        raise NotUnderstoodError(f"{module_name}.{name} may read something that is not an argument")
    return value


def _of_pure_module(describer: Describer, module: ModuleType, name: str, value: Any, rest: tuple[str, ...]) -> Any:
    """As :func:`_of_module`. The name stands for what belongs to the module, whether it has been loaded or not."""
    module_name = module.__name__
    if module_name == "tilecore" and trust.policy(f"{module_name}.{name}") == "pure" and rest:
        module_name, name, rest = f"{module_name}.{name}", rest[0], rest[1:]  # a room that is imported on demand
    home = None if value is _MISSING else trust.home(value)
    if home is None and not trust.is_pure_name(module_name, name):
        raise NotUnderstoodError(f"{module_name}.{name} may read something that is not an argument")
    as_declared = value is _MISSING or trust.is_as_declared(module, name, value)
    if not as_declared and home is None and not _belongs(value, module_name):
        describer.watch.entry(vars(module), name)
        return value
    place = (module_name, name) if as_declared else home or (module_name, name)
    describer.tag(b"M", ":".join((*place, *rest)))
    return _MISSING


def _belongs(value: Any, module: str) -> bool:
    """Whether a value of a pure module is a function that was made in its package, by a decorator say."""
    if not isinstance(value, FunctionType):
        return False
    homes = (str(value.__module__), str(value.__globals__.get("__name__")))
    return all(home.partition(".")[0] == module.partition(".")[0] for home in homes)


def _of_cell(describer: Describer, cell: CellType) -> Any:
    describer.watch.cell(cell)
    try:
        return cell.cell_contents
    except ValueError:
        describer.tag(b"E")  # not bound yet
        return _MISSING


def _of_object(describer: Describer, value: Any, name: str) -> Any:
    """The attribute, to go on with, when it is plain data; else _MISSING, the whole object being described.

    An object is described whole if that can be done; a class only when what is read of it is not plain data.
    """
    if not isinstance(value, type) and describer.try_value(value):
        return _MISSING
    attribute = static_attribute(value, name)
    describer.watch.parts(lambda: static_attribute(value, name) or ())
    if attribute is None:
        describer.value(value)
        return _MISSING
    describer.tag(b"A", name)
    return attribute[0]
