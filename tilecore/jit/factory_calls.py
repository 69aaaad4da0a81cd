"""Turns calls of a ``@tilecore.jit`` function into build jobs, and stores the built kernels in its caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.source_key import source_key
from tilecore.jit.build_jobs import Job
from tilecore.jit.call_text import call_text
from tilecore.jit.compile import _kernels
from tilecore.jit.layered import bundled, by_source
from tilecore.jit.request import files_of

if TYPE_CHECKING:
    from tilecore.jit.impl import JITImpl
    from tilecore.jit.kernel import JITKernel


def call_of(config: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) of a configuration: a dict, a tuple or list, or a single value."""
    if isinstance(config, Mapping):
        return (), dict(config)
    return (tuple(config) if isinstance(config, (tuple, list)) else (config,)), {}


def label_of(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """``name(1, block=2)``, long values cut short."""
    return call_text(str(jit_impl.__name__), args, kwargs)  # type: ignore[attr-defined]


def job_of(jit_impl: JITImpl, label: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Job:
    """Runs the factory (or an eager kernel's body); raises what it raises."""

    def make_ir() -> Any:
        return jit_impl.get_tir(*args, **kwargs)

    return Job(label, make_ir(), jit_impl.request(), make_ir)


def known_kernel(jit_impl: JITImpl, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JITKernel | None:
    """The kernel of a lazy call if a cache has it; the factory is not run."""
    request = jit_impl.request()
    if jit_impl.mode != "lazy" or files_of(request) is not None:
        return None
    source = source_key(jit_impl.func, args, kwargs)
    link, bundle_key = request.key_from(source), by_source(request, source)
    disk = disk_cache()
    key = None if link is None else disk.resolve(link)
    is_stored = key is not None and (key in _kernels or disk.get(key) is not None)
    if not is_stored and (bundle_key is None or bundled(request, bundle_key) is None):
        return None
    return jit_impl.compile(*args, **kwargs)


def remember(jit_impl: JITImpl, args: tuple[Any, ...], kwargs: dict[str, Any], job: Job, kernel: JITKernel) -> None:
    """Let the factory's next call with these arguments, here or in another process, find the kernel of ``job``."""
    if jit_impl.mode == "eager":
        jit_impl.compile(*args, **kwargs)  # finds it by its IR
        return
    place = jit_impl.memory_key(*args, **kwargs)
    if place is not None:
        jit_impl.keep(place, kernel)
    link = _source_link(jit_impl, args, kwargs)
    if link is not None:
        disk_cache().link(link, job.key)


def _source_link(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """The cache key that leads to a lazy kernel from its source, as JITImpl.compile makes it."""
    if jit_impl.mode != "lazy":
        return None
    return jit_impl.request().key_from(source_key(jit_impl.func, args, kwargs))
