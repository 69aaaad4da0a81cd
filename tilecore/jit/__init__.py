"""From a function to a kernel: ``@jit``, ``compile`` and ``par_compile``. Each name is imported when it is first used.

``from tilecore.jit import jit, compile, par_compile, JITImpl, JITKernel, ExecutionBackend, logger``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.jit.compile import compile as compile
    from tilecore.jit.execution_names import ExecutionBackend as ExecutionBackend
    from tilecore.jit.impl import JITImpl as JITImpl
    from tilecore.jit.impl import jit as jit
    from tilecore.jit.impl import lazy_jit as lazy_jit
    from tilecore.jit.kernel import JITKernel as JITKernel
    from tilecore.jit.parallel import par_compile as par_compile
    from tilecore.jit.request import logger as logger

_LAZY = {
    "ExecutionBackend": "tilecore.jit.execution_names",
    "JITImpl": "tilecore.jit.impl",
    "JITKernel": "tilecore.jit.kernel",
    "compile": "tilecore.jit.compile",
    "jit": "tilecore.jit.impl",
    "lazy_jit": "tilecore.jit.impl",
    "logger": "tilecore.jit.request",
    "par_compile": "tilecore.jit.parallel",
}

__all__ = sorted(_LAZY)


class _Package(ModuleType):
    """Importing the submodule ``tilecore.jit.compile`` sets the attribute ``compile``; the function of that name
    wins."""

    def __getattr__(self, name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_LAZY[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _LAZY or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
