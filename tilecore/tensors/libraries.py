"""Arrays of other libraries: which must not be written, and how a result becomes an array of the caller's library.

A library is known by the array API standard: its arrays have ``__array_namespace__``, the namespace ``from_dlpack``.
Where they do not have that yet, the package that calls their type its ``ndarray`` is taken for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any


def is_immutable(value: Any) -> bool:
    """Whether the array promises never to change. Those of jax do, and its DLPack capsules do not say so."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, getattr(jax, "Array", ()))


def is_traced(value: Any) -> bool:
    """Whether it stands for an array, or a number, of a program of jax that is being traced: it has no memory yet."""
    core = getattr(sys.modules.get("jax"), "core", None)
    return core is not None and isinstance(value, getattr(core, "Tracer", ()))


def namespace_of(values: Iterable[Any]) -> Any:
    """The namespace of the array API that all of the arrays have; None where there is none, or several. An array whose
    library cannot say it has none."""
    found: Any = None
    for value in values:
        namespace = _namespace_of(value)
        if getattr(namespace, "from_dlpack", None) is None or (found is not None and namespace is not found):
            return None
        found = namespace
    return found


def _namespace_of(value: Any) -> Any:
    ask = getattr(type(value), "__array_namespace__", None)
    try:
        return _package_of(type(value)) if ask is None else ask(value)
    except Exception:  # whatever code of the library
        return None


def _package_of(kind: type) -> Any:
    """The imported package whose ``ndarray`` the type, or one that it is derived from, is; None if there is none."""
    for base in kind.__mro__[:-1]:
        module = base.__module__
        package = sys.modules.get(module.partition(".")[0]) if isinstance(module, str) else None
        if getattr(package, "ndarray", None) is base:
            return package if hasattr(package, "asarray") else None
    return None


def importer(namespace: Any) -> Callable[[Any], Any]:
    """The function that makes an array of the library of a tensor that nobody else has, without a copy where the
    library takes its element type by DLPack."""

    def imported(tensor: Any) -> Any:
        try:
            array = namespace.from_dlpack(tensor)
        except (BufferError, TypeError, ValueError, RuntimeError):  # numpy exports no bfloat16, for one
            array = namespace.asarray(tensor)
        return tensor if array is None else array

    return imported
