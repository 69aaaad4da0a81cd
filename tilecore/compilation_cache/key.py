"""Computes the key of a kernel: the sha256 of a canonical encoding of everything that determines the compiled code.

The encoding is type-tagged and length-prefixed, so that different values never encode alike (``1``, ``True``, ``1.0``
and ``"1"`` differ, and so do ``("ab", "c")`` and ``("a", "bc")``), and it does not depend on the process: dicts and
frozensets are put in order.
"""

from __future__ import annotations

import enum
import struct
import sys
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from tilecore.dtypes import dtype
from tilecore.errors import CacheError

_VERSION = b"tilecore-key 1"
_DEEPEST = 200


class UncacheableError(CacheError, TypeError):
    """A value has no canonical form, so nothing that depends on it can have a key."""


def kernel_key(parts: Mapping[str, Any]) -> str:
    """The key, 64 hexadecimal digits, of a kernel made from ``parts``.

    Values may be None, bool, int, float, complex, str, bytes, tuple, list, dict, frozenset, tilecore, torch and numpy
    dtypes, numpy scalars and members of an Enum, nested at will; others raise UncacheableError saying where they are.
    """
    return digest(dict(parts))


def digest(value: Any) -> str:
    """sha256, in hexadecimal, of the canonical encoding of one value."""
    return sha256(_VERSION + encode(value)).hexdigest()


def encode(value: Any, where: str = "", depth: int = 0) -> bytes:
    """The canonical encoding of ``value``; ``where`` says where in the parts it is, for errors."""
    kind = type(value)
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple(value)
    if depth > _DEEPEST:
        raise UncacheableError(f"part{where} is nested too deeply, or contains itself")
    if kind is tuple or kind is list:
        items = [encode(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        return _group(b"t" if kind is tuple else b"l", items)
    if kind is dict or kind is MappingProxyType:
        pairs = [encode(k, where, depth + 1) + encode(v, f"{where}[{k!r}]", depth + 1) for k, v in value.items()]
        return _group(b"d", sorted(pairs))
    if kind is frozenset:
        return _group(b"z", sorted(encode(item, where, depth + 1) for item in value))
    if isinstance(value, enum.Enum):
        name = getattr(value, "_name_", None)
        inner = encode(value.value, f"{where}.value", depth + 1)
        return _group(b"e", [_text(b"s", _class_name(kind)), _text(b"s", name or ""), inner])
    number = numpy_scalar(value)
    if number is not None:
        return _group(b"u", [_text(b"s", number[0]), _bytes(number[1])])
    name = foreign_dtype(value)
    if name is not None:
        return _text(b"o", name)
    raise UncacheableError(
        f"part{where} has no canonical form, so it cannot be in a cache key",
        found=f"{_class_name(kind)}: {_short(value)}",
        expected="None, bool, int, float, complex, str, bytes, tuple, list, dict, frozenset, a dtype or an Enum member",
    )


def foreign_dtype(value: Any) -> str | None:
    """A name for a torch or numpy dtype, or None when ``value`` is neither. Imports neither package."""
    kind = type(value)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return str(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.dtype) and value.fields is None and value.subdtype is None:
        return f"numpy.{value.name}:{value.str}"
    return None


def numpy_scalar(value: Any) -> tuple[str, bytes] | None:
    """Type and bytes of a numpy number, or None when ``value`` is none. Does not import numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.number, numpy.bool_)):
        return None
    return foreign_dtype(value.dtype) or value.dtype.name, value.tobytes()


def plain_number(value: Any) -> Any:
    """A number, bool or text of numpy as Python's; other values, and numbers that Python has no type for, as they are.
    Does not import numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.number, numpy.bool_, numpy.character)):
        return value
    number = value.item()
    return value if isinstance(number, numpy.generic) else number


def _class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _group(tag: bytes, items: list[bytes]) -> bytes:
    # every item says itself where it ends, so their number is enough
    return b"%b%d:%b" % (tag, len(items), b"".join(items))


def _text(tag: bytes, value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"%b%d:%b" % (tag, len(data), data)


def _bytes(value: bytes) -> bytes:
    return b"y%d:%b" % (len(value), value)


def _float(value: float) -> bytes:
    return b"f" + (struct.pack(">d", value) if value == value else b"nan.....")


_SIMPLE: dict[type, Any] = {
    type(None): lambda value: b"n",
    bool: lambda value: b"b1" if value else b"b0",
    int: lambda value: _text(b"i", format(value, "x")),
    float: _float,
    complex: lambda value: b"c" + _float(value.real) + _float(value.imag),
    str: lambda value: _text(b"s", value),
    bytes: _bytes,
    dtype: lambda value: _text(b"o", f"tilecore.{value!s}"),
}
