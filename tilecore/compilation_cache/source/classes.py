"""Splits classes and their instances into the plain parts that a description covers."""

from __future__ import annotations

import abc
import dataclasses
import enum
import types
from typing import Any

from tilecore.compilation_cache.source import trust
from tilecore.compilation_cache.source.text import NotUnderstoodError

# Facts of a class that follow from its other contents, or that only say where it stands.
_BOOKKEEPING = trust.words(
    "__dict__ __weakref__ __module__ __doc__ __qualname__ __firstlineno__ __static_attributes__ __abstractmethods__ "
    "__parameters__ __orig_bases__ __match_args__ __slots__ __annotations__ __annotate__ __annotate_func__ "
    "__annotations_cache__ __dataclass_fields__ __dataclass_params__ _abc_impl __classcell__ __protocol_attrs__ "
    "_is_protocol _is_runtime_protocol __non_callable_proto_members__"
)
_MADE_FOR_NAMEDTUPLES = frozenset(
    {"_make", "_replace", "_asdict", "__new__", "__repr__", "__getnewargs__", "__replace__"}
)
_C_SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType)
_PLAIN_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)


def class_parts(cls: type) -> list[Any]:
    """Bases, fields and contents of a class that is written in Python; raises NotUnderstoodError for others."""
    if type(cls) not in _PLAIN_METACLASSES:
        raise NotUnderstoodError(f"class {cls.__qualname__} has a metaclass")
    if not _is_written_in_python(cls):
        raise NotUnderstoodError(f"class {cls.__qualname__} is not written in Python")
    attributes = vars(cls)
    parts: list[Any] = [[base for base in cls.__bases__ if base is not object]]
    if "__dataclass_fields__" in attributes:
        parts.append(repr(attributes["__dataclass_params__"]))
        for field in attributes["__dataclass_fields__"].values():
            default = "missing" if field.default is dataclasses.MISSING else ("default", field.default)
            factory = "missing" if field.default_factory is dataclasses.MISSING else ("factory", field.default_factory)
            facts = (field.name, default, factory, field.init, field.repr, field.compare, field.hash, field.kw_only)
            parts.append((*facts, str(field._field_type)))
    parts += _contents(cls)
    return parts


def enum_parts(cls: type[enum.Enum]) -> list[Any]:
    """Members and the methods of an Enum."""
    if type(cls) is not enum.EnumMeta:
        raise NotUnderstoodError(f"class {cls.__qualname__} has a metaclass")
    bases = [base.__qualname__ if trust.home(base) or base.__module__ == "builtins" else base for base in cls.__bases__]
    members = [(name, member._value_, _added_state(member)) for name, member in cls._member_map_.items()]
    others = [
        (name, value)
        for name, value in sorted(vars(cls).items())
        if name not in cls._member_map_ and (name[0] != "_" or _is_users(value))
    ]
    return [bases, members, others]


def instance_state(value: Any) -> Any:
    """Everything that an instance of a class written in Python holds; raises NotUnderstoodError for others."""
    cls = type(value)
    state: list[Any] = []
    for base in cls.__mro__:
        if base is object:
            continue
        if base is tuple and hasattr(cls, "_fields"):
            state.append(tuple(value))
            continue
        if not _is_written_in_python(base):
            raise NotUnderstoodError(f"an object of class {cls.__module__}.{cls.__qualname__}")
        for name, slot in vars(base).items():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    state.append((name, slot.__get__(value)))
                except AttributeError:
                    state.append((name,))
    state.append(sorted(getattr(value, "__dict__", {}).items()))
    return state


def instance_parts(value: Any) -> list[Any]:
    """The objects that :func:`instance_state` reads: the class, slots, and the names and values of the rest."""
    parts: list[Any] = [type(value)]
    for base in type(value).__mro__:
        for slot in vars(base).values():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    parts.append(slot.__get__(value))
                except AttributeError:
                    parts.append(_ABSENT)
    state = getattr(value, "__dict__", {})
    return [*parts, *state.keys(), *state.values()]


def static_attribute(value: Any, name: str) -> tuple[Any] | None:
    """``(value.name,)`` when that is plain data which reading cannot change or compute; else None."""
    is_class = isinstance(value, type)
    cls = value if is_class else type(value)
    if is_class and (type(cls) not in _PLAIN_METACLASSES):
        return None
    if is_class and issubclass(cls, enum.Enum):
        member = cls._member_map_.get(name)
        return None if member is None else (member,)
    attribute = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), _ABSENT)
    if not is_class:
        if cls.__getattribute__ is not object.__getattribute__ or hasattr(cls, "__getattr__"):
            return None
        if isinstance(attribute, types.MemberDescriptorType):
            return (getattr(value, name),) if hasattr(value, name) else None
        if hasattr(type(attribute), "__set__"):
            return None
        state = getattr(value, "__dict__", None)
        if type(state) is dict and name in state:
            return (state[name],)
    if attribute is _ABSENT or hasattr(type(attribute), "__get__"):
        return None
    return (attribute,)


_ABSENT = object()


def _added_state(member: enum.Enum) -> list[Any]:
    standard_names = ("_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_")
    return [(name, value) for name, value in sorted(vars(member).items()) if name not in standard_names]


def _contents(cls: type) -> list[Any]:
    attributes = vars(cls)
    is_dataclass = "__dataclass_fields__" in attributes
    is_namedtuple = tuple in cls.__bases__ and "_fields" in attributes
    contents = []
    for name in sorted(attributes):
        value = attributes[name]
        if name in _BOOKKEEPING or (is_namedtuple and name in _MADE_FOR_NAMEDTUPLES and not _is_users(value)):
            continue
        if is_dataclass and isinstance(value, types.FunctionType) and not _is_users(value):
            continue  # made by the decorator from the fields
        if is_namedtuple and name in attributes["_fields"]:
            continue
        contents.append((name, value))
    return contents


def _is_users(value: Any) -> bool:
    """Whether a part of a class was written in it, not made by the machinery of dataclasses, tuples or enums."""
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if not isinstance(function, types.FunctionType):
        return False
    home = function.__globals__.get("__name__", "")
    is_generated = function.__code__.co_filename.startswith("<string>") or home.startswith("namedtuple_")
    return not is_generated and home not in (
        "dataclasses",
        "collections",
        "enum",
        "reprlib",
        "typing",
        "_collections_abc",
    )


def _is_written_in_python(cls: type) -> bool:
    if trust.home(cls) is not None and cls.__module__ in ("typing", "abc"):
        return True
    if cls is tuple:
        return False
    members = vars(cls).values()
    return not any(isinstance(value, _C_SLOTS) for value in members) and not isinstance(
        vars(cls).get("__new__"), types.BuiltinFunctionType
    )
