"""Runs kernels on the target named on the command line while its plugin shows nothing but what the contract declares.

The plugin's module and its adapters are put behind proxies: another name than a hook's, or a method's of KernelAdapter,
is noted and raises. Printed is a JSON list of what was noted, and of the declared names that were used.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import types
from importlib.metadata import entry_points
from typing import Any

from tilecore.contract import hookspecs
from tilecore.contract.adapter import KernelAdapter

HOOKS = [name for name in vars(hookspecs) if name.startswith("tilecore_")]
METHODS = {name for name in vars(KernelAdapter) if not name.startswith("_")} | set(KernelAdapter.__annotations__)
used: set[str] = set()
undeclared: list[str] = []


def allowed(owner: str, name: str, declared: Any) -> bool:
    """Notes that a name is asked for."""
    if name in declared:
        used.add(name)
        return True
    undeclared.append(f"{owner}.{name}")
    return False


class StrictModule(types.ModuleType):
    """The plugin's module: its hooks and what every module has."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        namespace = vars(self)
        namespace["__file__"], namespace["__spec__"] = module.__file__, module.__spec__
        for hook in HOOKS:
            if hasattr(module, hook):
                hook_result = getattr(module, hook)
                namespace[hook] = _strict_adapters(hook_result) if hook == "tilecore_adapters" else hook_result

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        if not allowed(super().__getattribute__("__name__"), name, HOOKS):
            raise AttributeError(name)
        return super().__getattribute__(name)


def _strict_adapters(hook: Any) -> Any:
    def tilecore_adapters() -> list[KernelAdapter]:
        return [strict_adapter(adapter) for adapter in hook()]

    return hookspecs.hookimpl(tilecore_adapters)


def strict_adapter(inner: KernelAdapter) -> KernelAdapter:
    """An adapter with what KernelAdapter declares, and nothing else."""

    def method(name: str) -> Any:
        return lambda self, *args, **keywords: getattr(inner, name)(*args, **keywords)

    members: dict[str, Any] = {"__getattribute__": _watched(type(inner).__name__)}
    for name in METHODS:
        inner_attribute = getattr(type(inner), name, None)
        if inner_attribute is not None and inner_attribute is not getattr(KernelAdapter, name, None):
            members[name] = method(name) if callable(inner_attribute) else getattr(inner, name)
    adapter: KernelAdapter = type("StrictAdapter", (KernelAdapter,), members)()
    for name in METHODS & set(vars(inner)):
        object.__setattr__(adapter, name, getattr(inner, name))
    return adapter


def _watched(owner: str) -> Any:
    def __getattribute__(self: Any, name: str) -> Any:
        if not name.startswith("__") and not allowed(owner, name, METHODS):
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    return __getattribute__


def proxied(kind: str) -> None:
    """Puts the proxy where the loader will find the plugin's module."""
    (entry,) = [entry for entry in entry_points(group=hookspecs.ENTRY_POINT_GROUP) if entry.name == kind] or [None]
    name = entry.module if entry is not None else f"tilecore.backends.{kind}.plugin"
    sys.modules[name] = StrictModule(importlib.import_module(name))
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[parent], last, sys.modules[name])


def exercise(target: str) -> None:
    """What users do with a kernel: compile, call, look at, time, export, load; and what the commands ask."""
    import numpy as np

    import tilecore
    import tilecore.language as T
    from tilecore.plugins import manager

    n = T.dynamic("n")

    @T.prim_func
    def doubled(X: T.Tensor((n, 16), "float32"), Y: T.Tensor((n, 16), "float32")):
        with T.Kernel(T.ceildiv(n, 8), threads=32) as bx:
            x = T.alloc_shared((8, 16), "float32")
            T.copy(X[bx * 8, 0], x)
            for i, j in T.Parallel(8, 16):
                x[i, j] = x[i, j] * 2
            T.copy(x, Y[bx * 8, 0])

    x, y = np.arange(160, dtype=np.float32).reshape(10, 16), np.zeros((10, 16), np.float32)
    kernel = tilecore.compile(doubled, target=target)
    kernel(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    assert kernel.get_kernel_source()
    assert str(kernel.explain())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/doubled.tilecore"
        kernel.export(path, simulation=target != "cpu")
        again = np.zeros_like(y)
        tilecore.load_kernel(path)(x, again)
        np.testing.assert_array_equal(again, y)
    kernel.get_profiler().do_bench(warmup=1, rep=1, input_tensors=[x, y])
    backend, resolved = manager.resolve(target)
    backend.toolchain.find()
    backend.target.detect()
    for adapter in backend.adapters.values():
        adapter.available(resolved)
    try:
        kernel(x.astype(np.float64), y)
    except tilecore.errors.TilecoreError:
        pass
    else:
        raise AssertionError("a tensor of another type was taken")


if __name__ == "__main__":
    target_words = sys.argv[1]
    proxied(target_words.split()[0])
    exercise(target_words)
    print(json.dumps([undeclared, sorted(used)]))
