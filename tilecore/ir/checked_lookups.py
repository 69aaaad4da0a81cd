"""Looks operators of TVM up before TVM does, while TVM is imported.

TVM's Python code asks its registry of operators for about 110 names that it does not have, and goes on after the
errors. The first error of TVM's C++ code in a process reads the symbols of every loaded library, for its backtrace:
0.2 s, and 0.6 s where torch is loaded. So while TVM is imported, ``GetOp`` and ``RegisterOpAttr`` of
``tvm.ir._ffi_api`` raise an error of Python's for such names, and ask the registry for all others. The outcome of the
import is the same.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_MODULE = "tvm.ir._ffi_api"  # where TVM's Python code finds its C++ functions, at each call


class _CheckedRegistry:
    """The two functions, with the checks. functions: the module that has them."""

    def __init__(self, functions: ModuleType) -> None:
        self._functions = functions
        self._get, self._register_attribute = functions.GetOp, functions.RegisterOpAttr
        self._names_of_ops = functions.ListOpNames
        self._has_attribute, self._attribute = functions.OpHasAttr, functions.OpGetAttr
        self._known: set[str] = set()

    def install(self) -> None:
        self._functions.GetOp = self.get  # type: ignore[attr-defined]
        self._functions.RegisterOpAttr = self.register_attribute  # type: ignore[attr-defined]

    def restore(self) -> None:
        self._functions.GetOp = self._get  # type: ignore[attr-defined]
        self._functions.RegisterOpAttr = self._register_attribute  # type: ignore[attr-defined]

    def get(self, name: str) -> Any:
        """The operator. Raises AttributeError where there is none, as TVM does."""
        if name not in self._known:
            names = self._names_of_ops()
            if len(names) != len(self._known):  # the registry only grows, and reading all names takes a millisecond
                self._known = {str(known) for known in names}
            if name not in self._known:
                raise AttributeError(f"Operator {name} is not registered")
        return self._get(name)

    def register_attribute(self, name: str, key: str, value: Any, level: int) -> Any:
        """Sets an attribute of an operator, unless it has that very text already: TVM would refuse one of the same
        priority."""
        if isinstance(value, str) and name in self._known:
            operator = self._get(name)
            if self._has_attribute(operator, key) and self._attribute(operator, key) == value:
                return None
        return self._register_attribute(name, key, value, level)


class _Finder(MetaPathFinder):
    """Finds the module of the functions, and installs the checks when it has been imported."""

    def __init__(self) -> None:
        self.registry: _CheckedRegistry | None = None

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if fullname != _MODULE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            with contextlib.suppress(AttributeError):  # another TVM: its lookups stay as they are
                registry = _CheckedRegistry(module)
                registry.install()
                self.registry = registry

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextlib.contextmanager
def checked_lookups() -> Iterator[None]:
    """In the block an import of TVM causes no errors in its C++ code; after it TVM's own functions are back."""
    if "tvm" in sys.modules:
        yield
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if finder.registry is not None:
            finder.registry.restore()
