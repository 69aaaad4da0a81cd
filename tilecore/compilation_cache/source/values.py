"""Describes the values that a function reads canonically: numbers by value, functions by source, classes by contents.

A description is a sequence of self-delimiting byte strings. What can change, and functions and classes, is described
once and then referred to by number, so cycles end and aliases show.
"""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.key import encode, foreign_dtype, numpy_scalar
from tilecore.compilation_cache.source import trust
from tilecore.compilation_cache.source.arrays import array_contents
from tilecore.compilation_cache.source.classes import class_parts, enum_parts, instance_parts, instance_state
from tilecore.compilation_cache.source.functions import describe_decorated, describe_function
from tilecore.compilation_cache.source.text import NotUnderstoodError
from tilecore.compilation_cache.source.watch import Watch
from tilecore.dtypes import dtype

if TYPE_CHECKING:
    from tilecore.compilation_cache.source.definitions import Notes

MOST_OBJECTS = 2048
_DEEPEST = 100
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, dtype})


class Describer:
    """Collects the description of any number of values. Methods raise NotUnderstoodError.

    watch: everything that can change and was read. places: the file and first line of each function. in_process: the
    description is compared within this process only; then nodes of TVM, which do not change, are described as the very
    objects that they are. notes: gives what keeps the definitions of functions between processes.
    """

    def __init__(self, notes: Callable[[], Notes], in_process: bool = False) -> None:
        self.notes = notes
        self.in_process = in_process
        self.out: list[bytes] = []
        self.watch = Watch()
        self.places: list[str] = []
        self._numbers: dict[int, int] = {}  # id to number of what has been described
        self._described: list[Any] = []  # by number; keeps the ids valid
        self._depth = 0

    def value(self, value: Any, order_free: bool = False) -> None:
        """Describe ``value``; ``order_free``: the order of a set does not matter to whoever reads it."""
        kind = type(value)
        if kind in _PLAIN or foreign_dtype(value) is not None:
            self.out.append(encode(value))
            return
        if self._depth > _DEEPEST or len(self._described) > MOST_OBJECTS:
            raise NotUnderstoodError("the values that it reads are too large")
        self._depth += 1
        try:
            describe = _BY_TYPE.get(kind)
            if describe is not None:
                describe(self, value)
            elif kind in (set, frozenset):
                self._set(value, order_free)
            elif isinstance(value, type):
                self._class(value)
            else:
                self._instance(value)
        finally:
            self._depth -= 1

    def try_value(self, value: Any) -> bool:
        """Describe ``value``, or nothing at all; whether it could be done."""
        length, count, mark = len(self.out), len(self._described), self.watch.mark()
        try:
            self.value(value)
            return True
        except NotUnderstoodError:
            del self.out[length:]
            self.watch.forget(mark)
            for described in self._described[count:]:
                del self._numbers[id(described)]
            del self._described[count:]
            return False

    def tag(self, tag: bytes, text: str | bytes = b"") -> None:
        """A structural mark. Tags are upper-case, those of :func:`encode` lower-case."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        self.out.append(b"%b%d:%b" % (tag, len(data), data))

    def again(self, value: Any) -> bool:
        """Whether ``value`` has been (or is being) described; then it is referred to by number."""
        number = self._numbers.get(id(value))
        if number is not None:
            self.tag(b"R", str(number))
            return True
        self._numbers[id(value)] = len(self._described)
        self._described.append(value)
        return False

    def mapping(self, value: Mapping[Any, Any]) -> None:
        """A mapping in its own order, which a function can see."""
        self.watch.mapping(value)
        self.items(b"D", [part for pair in value.items() for part in pair])

    def items(self, tag: bytes, items: Iterable[Any]) -> None:
        items = list(items)
        self.tag(tag, str(len(items)))
        for item in items:
            self.value(item)

    def parts(self, tag: bytes, *parts: Any) -> None:
        """A fixed number of parts."""
        self.tag(tag)
        for part in parts:
            self.value(part)

    def _list(self, value: list) -> None:
        if not self.again(value):
            self.watch.parts(value.copy)
            self.items(b"L", value)

    def _dict(self, value: dict) -> None:
        if not self.again(value):
            self.mapping(value)

    def _ordered_dict(self, value: collections.OrderedDict) -> None:
        self.watch.mapping(value)
        self.parts(b"Q", list(value.items()))

    def _proxy(self, value: types.MappingProxyType) -> None:
        self.watch.mapping(value)
        self.parts(b"X", dict(value))

    def _bytearray(self, value: bytearray) -> None:
        self.watch.fact(lambda: bytes(value))
        self.parts(b"AB", bytes(value))

    def _namespace(self, value: types.SimpleNamespace) -> None:
        if not self.again(value):
            self.parts(b"N", vars(value))

    def _set(self, value: set | frozenset, order_free: bool) -> None:
        if not order_free and len(value) > 1:
            raise NotUnderstoodError("the order of a set differs between processes")
        if not all(type(item) in _PLAIN and item == item for item in value):  # others cannot be sorted for certain
            raise NotUnderstoodError("a set holds values that are not plain")
        if type(value) is set:
            self.watch.parts(lambda: tuple(value))
        self.out.append((b"S" if type(value) is set else b"FS") + encode(frozenset(value)))

    def _function(self, function: types.FunctionType) -> None:
        home = trust.home(function)
        if home is None:
            describe_function(self, function)
        else:
            self.tag(b"M", ":".join(home))

    def _builtin_function(self, function: types.BuiltinFunctionType) -> None:
        owner = function.__self__
        home = trust.home(function)
        if home is not None:
            self.tag(b"M", ":".join(home))
        elif function is trust.PURE_BUILTINS.get(function.__name__):
            self.tag(b"B", function.__name__)
        elif owner is not None and not isinstance(owner, (types.ModuleType, type)):
            self.parts(b"O", function.__name__, owner)
        else:
            raise NotUnderstoodError(f"builtin {function.__name__} may read something that is not an argument")

    def _class(self, cls: type) -> None:
        home = trust.home(cls)
        numpy = sys.modules.get("numpy")
        if cls in trust.PURE_BUILTIN_CLASSES:
            self.tag(b"B", cls.__qualname__)
        elif home is not None:
            self.tag(b"M", ":".join(home))
        elif numpy is not None and issubclass(cls, numpy.generic):
            self.tag(b"M", f"{cls.__module__}:{cls.__qualname__}")
        elif trust.policy(cls.__module__) != "user":
            raise NotUnderstoodError(f"class {cls.__qualname__} of {cls.__module__}")
        elif not self.again(cls):
            self.tag(b"C", cls.__qualname__)
            self.watch.mapping(vars(cls))
            self.watch.parts(lambda: cls.__bases__)
            for member in getattr(cls, "_member_map_", {}).values() if issubclass(cls, enum.Enum) else ():
                self.watch.mapping(vars(member))
            self.items(b"T", enum_parts(cls) if issubclass(cls, enum.Enum) else class_parts(cls))

    def _instance(self, value: Any) -> None:
        if self.again(value):
            return
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        stand_in = getattr(kind, "__source_key__", None)
        wrapped = getattr(value, "__wrapped__", None) if name.startswith("tilecore.") else None
        torch = sys.modules.get("torch")
        if isinstance(value, enum.Enum):
            self.parts(b"U", kind, value._name_, value._value_)
        elif isinstance(stand_in, types.FunctionType):
            self.watch.fact(lambda: description(stand_in(value), self.notes))
            self.parts(b"K", name, stand_in(value))
        elif isinstance(wrapped, types.FunctionType):
            describe_decorated(self, value, wrapped)
        elif torch is not None and kind in (torch.Size, torch.device):
            self.parts(b"K", name, str(value))
        elif (number := numpy_scalar(value)) is not None:
            self.parts(b"K", *number)
        elif self.in_process and kind.__module__.partition(".")[0] in _OF_TVM:
            self.tag(b"TN", str(_serial_number(value)))
        elif (array := array_contents(value)) is not None:
            self.watch.fact(lambda: array_contents(value))
            self.parts(b"AN", name, *array)
        else:
            self.watch.parts(lambda: instance_parts(value))
            self.parts(b"I", kind, instance_state(value))


_OF_TVM = ("tvm", "tvm_ffi")
_serials = itertools.count()
_numbered: dict[int, tuple[int, Any]] = {}  # by address: a number, and the object, which keeps the address its own


def _serial_number(value: Any) -> int:
    return _numbered.setdefault(id(value), (next(_serials), value))[0]


def description(value: Any, notes: Callable[[], Notes], in_process: bool = False) -> bytes:
    """The description of one value by itself. Raises NotUnderstoodError."""
    describer = Describer(notes, in_process)
    describer.value(value)
    return b"".join(describer.out)


_BY_TYPE: dict[type, Callable[[Describer, Any], None]] = {
    tuple: lambda d, value: d.items(b"T", value),
    list: Describer._list,
    dict: Describer._dict,
    bytearray: Describer._bytearray,
    collections.OrderedDict: Describer._ordered_dict,
    types.MappingProxyType: Describer._proxy,
    types.SimpleNamespace: Describer._namespace,
    range: lambda d, value: d.parts(b"Z", value.start, value.stop, value.step),
    slice: lambda d, value: d.parts(b"H", value.start, value.stop, value.step),
    type(...): lambda d, value: d.tag(b"B", "Ellipsis"),
    type(NotImplemented): lambda d, value: d.tag(b"B", "NotImplemented"),
    types.FunctionType: Describer._function,
    types.BuiltinFunctionType: Describer._builtin_function,
    types.MethodType: lambda d, value: d.parts(b"Y", value.__func__, value.__self__),
    functools.partial: lambda d, value: d.parts(b"P", value.func, value.args, value.keywords),
    staticmethod: lambda d, value: d.parts(b"JS", value.__func__),
    classmethod: lambda d, value: d.parts(b"JC", value.__func__),
    property: lambda d, value: d.parts(b"JP", value.fget, value.fset, value.fdel),
    functools.cached_property: lambda d, value: d.parts(b"JK", value.func),
    types.MemberDescriptorType: lambda d, value: d.tag(b"JM", value.__name__),
    types.GenericAlias: lambda d, value: d.parts(b"G", value.__origin__, value.__args__),
    types.UnionType: lambda d, value: d.parts(b"V", value.__args__),
}
