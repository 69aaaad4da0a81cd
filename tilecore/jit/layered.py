"""Takes kernels from bundles: those of TILECORE_CACHE_PATH, and those that the program has added."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore import settings
from tilecore.compilation_cache.current import is_cache_enabled
from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import TilecoreError
from tilecore.stage_times import stage
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.compilation_cache.source_key import SourceKey
    from tilecore.jit.request import Request

_LAYERS = "tilecore.bundles.layers"


def bundles_are_there(request: Request) -> bool:
    """Whether kernels for this request may come from bundles."""
    if _LAYERS not in sys.modules and not settings.cache_path():
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

    adapter = request.backend.adapters[request.adapter]

    def fit(text: str) -> int:
        compiled_for = Target.parse(text)
        if compiled_for.kind != request.target.kind:
            return 0
        try:
            return adapter.fit(compiled_for, request.target)
        except TilecoreError:  # a target of another version of the package
            return 0

    with stage("bundles"):
        return layers.find([key], request.adapter, fit)


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
