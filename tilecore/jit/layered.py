"""Takes kernels from bundles: those of TILECORE_CACHE_PATH, and those that the program has added. What no bundle has is
compiled, unless TILECORE_CACHED_ONLY forbids that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore import debug, settings
from tilecore.compilation_cache.current import is_cache_enabled
from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import CacheError, TilecoreError
from tilecore.stage_times import stage
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.bundles.layers import Fit
    from tilecore.compilation_cache.source_key import SourceKey
    from tilecore.jit.request import Request

LAYERS = "tilecore.bundles.layers"


def bundles_are_there(request: Request) -> bool:
    """Whether kernels for this request may come from bundles."""
    if LAYERS not in sys.modules and not settings.cache_path():
        return False  # most programs have none, and do not import what reads them
    from tilecore.bundles import layers
    from tilecore.jit.request import files_of

    return layers.are_there() and request.adapter != INTERPRETED and is_cache_enabled() and files_of(request) is None


def by_source(request: Request, source: SourceKey | None, **facts: Any) -> str | None:
    """The key in bundles of a kernel by its source and by ``facts`` of the call, None where there is none."""
    if source is None or request.tells_places or not bundles_are_there(request):
        return None
    return request.portable_key("source", source.portable, **facts)


def bundled(request: Request, key: str) -> Artifact | None:
    """The artifact of the kernel with this key in a bundle, for the target that fits the requested one best."""
    from tilecore.bundles import layers

    with stage("bundles"):
        return layers.find([key], request.adapter, fit_of(request))


def fit_of(request: Request) -> Fit:
    """How well the target of a text fits the requested one, as the execution backend ranks them; 0: it does not."""
    adapter = request.backend.adapters[request.adapter]

    def fit(text: str) -> int:
        compiled_for = Target.parse(text)
        if compiled_for.kind != request.target.kind:
            return 0
        try:
            return adapter.fit(compiled_for, request.target)
        except TilecoreError:  # a target of another version of the package
            return 0

    return fit


def bundled_by_ir(request: Request, func: Any) -> Artifact | None:
    """As :func:`bundled`, of the kernel with this tile IR."""
    if not bundles_are_there(request):
        return None
    from tilecore.jit.request import portable_ir_key

    return bundled(request, portable_ir_key(func, request))


def request_of(artifact: Artifact, request: Request) -> Request:
    """The request with the target that the artifact was compiled for, which may differ from the requested one."""
    if artifact.target == str(request.target):
        return request
    from tilecore.plugins import manager

    return replace(request, target=manager.resolve(artifact.target)[1])


def may_compile(name: str, request: Request, call: Callable[[], str] | None = None) -> None:
    """Called before a kernel is compiled because no cache and no bundle has it. Raises CacheError where
    TILECORE_CACHED_ONLY is set; `tilecore compile`, which makes bundles, sets bundles aside and is free of it. With
    TILECORE_DEBUG=1 it says what the bundles have instead.

    name: of the function that the user calls, or that of the kernel in its tile IR. call: gives the text of the call,
    with its arguments; without it the messages name the function.
    """
    if settings.cached_only() and not _is_for_a_bundle():
        raise _refusal(name, request, name if call is None else call())
    if debug.level() >= debug.BACKEND:
        for text in _instead_of(name, request):
            missing = name if call is None else call()
            debug.say(debug.BACKEND, f"{missing} is compiled, as no bundle has it: {text}")


def _refusal(name: str, request: Request, call: str) -> CacheError:
    from tilecore.jit.request import files_of
    from tilecore.runtime.simulation import simulates

    fault = f"{call} is in no cache and in no bundle, and TILECORE_CACHED_ONLY forbids compiling it"
    found, hint = "; ".join(_instead_of(name, request)), "add it to a bundle (tilecore compile)"
    if files_of(request) is not None:
        fault = f"{call} would be compiled, which TILECORE_CACHED_ONLY forbids"
        found = "files of every step are asked for (TILECORE_DUMP or debug_root_path), which only a compilation writes"
        hint = "ask for no files"
    elif not is_cache_enabled():
        found, hint = "caches and bundles are turned off (TILECORE_DISABLE_CACHE)", "turn them on"
    elif simulates(request.adapter, request.backend):
        found = f"a simulated device of target {request.target.kind!r}, whose kernels are in no bundle"
        hint = "run it where the device is"
    elif not found:
        found = _why_no_bundles()
    return CacheError(
        fault,
        found=found,
        expected=f"a kernel for {request.target.brief()} by execution backend {request.adapter!r}",
        hint=f"{hint}, or unset TILECORE_CACHED_ONLY",
    )


def _why_no_bundles() -> str:
    paths = settings.cache_path()
    if not paths:
        return "no bundles: neither TILECORE_CACHE_PATH nor the program names one"
    from tilecore.bundles.layers import problem_of

    problems = [f"{path} is not used: {problem}" for path in paths if (problem := problem_of(path))]
    return "; ".join(problems) or f"TILECORE_CACHE_PATH ({', '.join(paths)}) has no bundles, and caches without it"


def _instead_of(name: str, request: Request) -> list[str]:
    if not bundles_are_there(request):
        return []
    from tilecore.bundles.misses import instead_of

    return instead_of(name, request.adapter, fit_of(request))


def _is_for_a_bundle() -> bool:
    layers = sys.modules.get(LAYERS)
    return layers is not None and layers.are_set_aside()
