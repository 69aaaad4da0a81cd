"""The tile language: ``import tilecore.language as T``.

Names are loaded when first used, so that importing the language costs nothing: most need TVM, which takes seconds to
import, and a kernel that comes from the cache needs none of them. docs/language.md describes each.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from tilecore import dtypes as _dtypes
from tilecore.ir.language_names import NAMES as _NAMES


def _cast(values: tuple[Any, ...], dtype: _dtypes.dtype) -> Any:
    """A value cast to an element type, which its call does; several values are the lanes of a vector type. Without a
    value, a variable: in a kernel one that T.let gives a value, outside of kernels a size as T.dynamic makes them."""
    if not values and dtype.lanes == 1:
        from tilecore.ir.nodes import Var
        from tilecore.language.conversions import ir_dtype
        from tilecore.tracing.current import active

        builder = active()
        return Var("value", ir_dtype(dtype)) if builder is None else builder.variable("value", ir_dtype(dtype))
    if len(values) != 1:
        from tilecore.language.lanes import vector_of

        return vector_of(values, dtype)
    from tilecore.language.numeric import cast

    return cast(values[0], dtype)


_dtypes.set_cast(_cast)

for _name in _dtypes.FACTS:
    globals()[_name] = _dtypes.dtype(_name)
for _name in _dtypes.UNSUPPORTED:
    globals()[_name] = _dtypes.UnsupportedType(_name)
for _name, _target in _dtypes.ALIASES.items():
    if _name.isidentifier() and not _name.startswith(("bf1", "fp")):
        globals()[_name] = _dtypes.dtype(_target)


def __getattr__(name: str) -> Any:
    place = _NAMES.get(name)
    if place is None:
        return _dtypes.dtype(name) if _dtypes.split_vector(name)[1] > 1 else _of_a_backend(name)
    module, _, attribute = place.partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def _of_a_backend(name: str) -> Any:
    """A name that an installed backend adds; it is asked for each time, as backends come and go."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from tilecore.plugins.module_finder import is_file, is_module

    if is_file(f"language.{name}"):  # ``from tilecore.language import slices`` asks for the attribute first
        return importlib.import_module(f"{__name__}.{name}")
    from tilecore.language.dialects import backend_function, backend_names
    from tilecore.language.foreign import missing

    value = backend_function(name)
    if value is None and is_module(f"language.{name}"):
        value = importlib.import_module(f"{__name__}.{name}")
    if value is None:
        raise missing(name, [*_NAMES, *_dtypes.FACTS, *_dtypes.ALIASES, *backend_names()])
    return value


class _Language(ModuleType):
    """Importing the submodule ``tilecore.language.gemm`` sets the attribute ``gemm`` of this package; T.gemm wins."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES or not isinstance(value, ModuleType) or value.__name__ != f"{__name__}.{name}":
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Language


def __dir__() -> list[str]:
    return sorted({*_NAMES, *(n for n in globals() if not n.startswith("_"))})


__all__ = sorted({*_NAMES, *_dtypes.FACTS} - {"__exp"})
