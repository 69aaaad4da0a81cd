"""KernelCache: the caches of this process as one object, by the methods that TileLang's has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache import admin
from tilecore.errors import CacheError

if TYPE_CHECKING:
    from tilecore.compilation_cache.admin import CacheCleared
    from tilecore.jit.kernel import JITKernel


class KernelCache:
    """The kernels in memory, before those on disk. All instances are of the same caches: a process has one of each."""

    def cached(
        self,
        func: Any,
        out_idx: Any = None,
        *,
        target: Any = None,
        target_host: Any = None,
        execution_backend: str | None = None,
        verbose: bool | None = None,
        pass_configs: Mapping[Any, Any] | None = None,
        compile_flags: str | Sequence[str] | None = None,
    ) -> JITKernel:
        """The kernel of a T.prim_func from memory, from disk, or compiled: :func:`tilecore.compile`."""
        from tilecore.jit.compile import compile  # start-up

        return compile(func, out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags)

    def clear_cache(self) -> CacheCleared:
        """Forget the kernels in memory and remove those on disk; what was removed."""
        from tilecore.jit.compile import _kernels  # start-up

        _kernels.clear()
        return admin.clear()

    @property
    def path(self) -> Path:
        """The folder on disk; raises CacheError where there is none."""
        folder = admin.path()
        if folder is None:
            raise CacheError("no kernels are kept on disk", hint="set TILECORE_CACHE_DIR to a folder of your own")
        return Path(folder)


def cached(func: Any, out_idx: Any = None, **settings: Any) -> JITKernel:
    """``KernelCache().cached``."""
    return KernelCache().cached(func, out_idx, **settings)


def clear_cache() -> CacheCleared:
    """``KernelCache().clear_cache``."""
    return KernelCache().clear_cache()
