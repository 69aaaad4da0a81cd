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


def namespace_of(values: Iterable[Any]) -> Any:
    """The namespace of the array API that all of the arrays have; None where there is none, or several."""
    found: Any = None
    for value in values:
        ask = getattr(type(value), "__array_namespace__", None)
        namespace = _package_of(type(value)) if ask is None else ask(value)
        if not hasattr(namespace, "from_dlpack") or (found is not None and namespace is not found):
            return None
        found = namespace
    return found


def _package_of(kind: type) -> Any:
    """The imported package whose ``ndarray`` the type is; None if there is none."""
    package = sys.modules.get(kind.__module__.partition(".")[0])
    is_its_array = getattr(package, "ndarray", None) is kind
    return package if is_its_array and hasattr(package, "asarray") else None


def importer(namespace: Any) -> Callable[[Any], Any]:
    """The function that makes an array of the library of a tensor that nobody else has, without a copy where the
    library takes its element type by DLPack."""

    def imported(tensor: Any) -> Any:
        try:
            return namespace.from_dlpack(tensor)
        except (BufferError, TypeError, ValueError, RuntimeError):  # numpy exports no bfloat16, for one
            return namespace.asarray(tensor)

    return imported
