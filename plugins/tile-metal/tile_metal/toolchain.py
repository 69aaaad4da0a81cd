"""Puts the header's text into the source: the whole program that macOS compiles when it is loaded."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Sequence

from tile_metal import header, rules, simulated
from tile_metal.options import FAST_MATH
from tile_metal.target import msl_of
from tilecore import settings
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.target import Target

FORMAT = "msl"


def build(request: BuildRequest) -> tuple[bytes, str]:
    """The whole program as UTF-8 text, in format "msl". TILECORE_CHECK=1 holds the source to the rules of MSL."""
    if settings.check():
        rules.check(request.source, msl_of(request.target), request.name)
    if request.adapter == simulated.NAME:  # the simulator compiles the source for the host when it loads the artifact
        return b"", simulated.FORMAT
    return header.whole_program(request.source, fast_math=FAST_MATH.value_in(request.config)).encode(), FORMAT


@functools.lru_cache(maxsize=1)
def _headers() -> str:
    return hashlib.sha256(repr(header.texts()).encode()).hexdigest()[:16]


def version(target: Target) -> str:
    """A digest of the headers; part of the keys of the kernel cache."""
    return f"headers {_headers()}"


def find() -> Sequence[Found]:
    """macOS compiles the source when a kernel is loaded; no other tool is needed."""
    if sys.platform == "darwin":
        return [Found("Metal", True, "part of macOS", "", "compile, run")]
    return [
        Found("Metal", False, "part of macOS alone", "", "run", "run kernels on a Mac, or with TILECORE_SIMULATE=1")
    ]


TOOLCHAIN = Toolchain(
    find=find,
    build=build,
    version=version,
)
