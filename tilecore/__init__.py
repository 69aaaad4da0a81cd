"""tilecore: tile kernels on every chip. A small compiler core over stock TVM; backends are pip packages.

Every public name is imported when it is first used, so that ``import tilecore`` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore import autotuner as autotuner
    from tilecore import cache as cache
    from tilecore import engine as engine
    from tilecore import env as env
    from tilecore import errors as errors
    from tilecore import interpreter as interpreter
    from tilecore import language as language
    from tilecore import layout as layout
    from tilecore import math as math
    from tilecore import profiler as profiler
    from tilecore import testing as testing
    from tilecore import transform as transform
    from tilecore.autotune import autotune as autotune
    from tilecore.cache import disable_cache as disable_cache
    from tilecore.cache import enable_cache as enable_cache
    from tilecore.cache import is_cache_enabled as is_cache_enabled
    from tilecore.debug import set_log_level as set_log_level
    from tilecore.dtypes import dtype as DataType  # noqa: F401
    from tilecore.dtypes import dtype as dtype
    from tilecore.ir.nodes import tvm as tvm
    from tilecore.jit.bundle import Bundle as Bundle
    from tilecore.jit.bundle import load_bundle as load_bundle
    from tilecore.jit.compile import compile as compile
    from tilecore.jit.export import load_kernel as load_kernel
    from tilecore.jit.impl import JITImpl as JITImpl
    from tilecore.jit.impl import jit as jit
    from tilecore.jit.jax_call import jax_call as jax_call
    from tilecore.jit.kernel import JITKernel as JITKernel
    from tilecore.jit.lower import lower as lower
    from tilecore.jit.parallel import par_compile as par_compile
    from tilecore.language.gemm import GemmWarpPolicy as GemmWarpPolicy
    from tilecore.language.integers import cdiv as cdiv
    from tilecore.language.integers import next_power_of_2 as next_power_of_2
    from tilecore.language.layouts import Fragment as Fragment
    from tilecore.language.layouts import Layout as Layout
    from tilecore.profiler import Profiler as Profiler
    from tilecore.profiler import TensorSupplyType as TensorSupplyType
    from tilecore.target import Target as Target
    from tilecore.tensors.reachable import reachable as reachable
    from tilecore.transform import PassConfigKey as PassConfigKey

# Public name: the module it comes from, and its name there ("" is the module itself).
_LAZY: dict[str, tuple[str, str]] = {
    "Fragment": ("tilecore.language", "Fragment"),
    "GemmWarpPolicy": ("tilecore.language", "GemmWarpPolicy"),
    "Layout": ("tilecore.language", "Layout"),
    "Target": ("tilecore.target", "Target"),
    "autotune": ("tilecore.autotune", "autotune"),
    "autotuner": ("tilecore.autotuner", ""),
    "cache": ("tilecore.cache", ""),
    "DataType": ("tilecore.dtypes", "dtype"),
    "cdiv": ("tilecore.language.integers", "cdiv"),
    "disable_cache": ("tilecore.cache", "disable_cache"),
    "dtype": ("tilecore.dtypes", "dtype"),
    "enable_cache": ("tilecore.cache", "enable_cache"),
    "Profiler": ("tilecore.profiler", "Profiler"),
    "TensorSupplyType": ("tilecore.profiler", "TensorSupplyType"),
    "engine": ("tilecore.engine", ""),
    "env": ("tilecore.env", ""),
    "errors": ("tilecore.errors", ""),
    "interpreter": ("tilecore.interpreter", ""),
    "reachable": ("tilecore.tensors.reachable", "reachable"),
    "is_cache_enabled": ("tilecore.cache", "is_cache_enabled"),
    "jax_call": ("tilecore.jit.jax_call", "jax_call"),
    "jit": ("tilecore.jit.impl", "jit"),
    "lazy_jit": ("tilecore.jit.impl", "jit"),
    "JITImpl": ("tilecore.jit.impl", "JITImpl"),
    "JITKernel": ("tilecore.jit.kernel", "JITKernel"),
    "compile": ("tilecore.jit.compile", "compile"),
    "Bundle": ("tilecore.jit.bundle", "Bundle"),
    "load_bundle": ("tilecore.jit.bundle", "load_bundle"),
    "load_kernel": ("tilecore.jit.export", "load_kernel"),
    "PassConfigKey": ("tilecore.transform", "PassConfigKey"),
    "transform": ("tilecore.transform", ""),
    "language": ("tilecore.language", ""),
    "layout": ("tilecore.layout", ""),
    "lower": ("tilecore.jit.lower", "lower"),
    "math": ("tilecore.math", ""),
    "next_power_of_2": ("tilecore.language.integers", "next_power_of_2"),
    "par_compile": ("tilecore.jit.parallel", "par_compile"),
    "profiler": ("tilecore.profiler", ""),
    "set_log_level": ("tilecore.debug", "set_log_level"),
    "testing": ("tilecore.testing", ""),
    "tvm": ("tilecore.ir.nodes", "tvm"),
}
__version__ = "0.1.0"  # of both distributions, tilecore-runtime and tilecore

__all__ = ["__version__", *sorted(_LAZY)]


class _Package(ModuleType):
    """Importing the submodule ``tilecore.jit`` sets the attribute ``jit`` of this package; the public name wins."""

    def __getattr__(self, name: str) -> Any:
        if name in _LAZY:
            module, attribute = _LAZY[name]
            value: Any = import_module(module)
            value = getattr(value, attribute) if attribute else value
        else:
            value = _module_without_file(name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        hidden = _LAZY.get(name, ("", ""))[1] and isinstance(value, ModuleType) and value.__name__ == f"tilecore.{name}"
        if not hidden:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


def _module_without_file(name: str) -> Any:
    """``tilecore.<name>``, a module of TileLang's name or of a backend; raises AttributeError where there is none."""
    from tilecore.installation import TOP_LEVEL

    if not name.startswith("_") and name not in TOP_LEVEL:
        from tilecore.plugins.module_finder import is_module, why_missing

        if is_module(name):
            return import_module(f"tilecore.{name}")
        reason = why_missing(name)
        if reason is not None:
            raise AttributeError(reason)
    raise AttributeError(f"module 'tilecore' has no attribute {name!r}")


class _ModulesWithoutFiles:
    """The last place where the import system looks: modules of tilecore that are no files."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith("tilecore."):
            return None
        from tilecore.plugins.module_finder import spec_of

        return spec_of(name)


class _NamesInTvm:
    """Waits for the import of TVM, whoever asks for it, to add names that programs for TileLang take from there."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "tvm" or not _compiler_is_installed():
            return None
        from tilecore.ir.names_in_tvm import spec_of_tvm

        return spec_of_tvm(_NamesInTvm, path, target)


def _compiler_is_installed() -> bool:
    """False beside programs that have a TVM of their own, where only tilecore-runtime is installed."""
    from tilecore.installation import compiler_is_installed

    return compiler_is_installed()


sys.meta_path.append(_ModulesWithoutFiles)  # type: ignore[arg-type]
sys.modules[__name__].__class__ = _Package
if "tvm" in sys.modules:
    if _compiler_is_installed():
        import_module("tilecore.ir.names_in_tvm").add_names()
else:
    sys.meta_path.insert(0, _NamesInTvm)  # type: ignore[arg-type]
