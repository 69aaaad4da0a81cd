"""Inlines the headers into the source, so that a compiled or exported kernel needs no file of this package."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from tile_opencl.devices import INSTALL, NoDevice, words, working
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.target import Target

INCLUDE = Path(__file__).with_name("include")
FORMAT = "opencl"


def build(request: BuildRequest) -> tuple[bytes, str]:
    """The whole program and the options that the driver compiles it with, as JSON."""
    source = "#define TC_INT64_ATOMICS\n" if "int64" in str(request.target.get("extensions")) else ""
    source += with_headers(request.source)
    return json.dumps({"source": source, "options": list(request.flags)}).encode(), FORMAT


def with_headers(source: str) -> str:
    """``source`` with the text of this package's headers where they are included."""
    return re.sub(r'^#include "(.*)"$', lambda m: with_headers((INCLUDE / m[1]).read_text()), source, flags=re.M)


@functools.cache
def version(target: Target) -> str:
    return hashlib.sha256(with_headers('#include "tilecore_opencl.h"').encode()).hexdigest()[:16]


def find() -> Sequence[Found]:
    try:
        return [Found("an OpenCL device", True, words(working("0:0")), allows="compile, run")]
    except NoDevice as error:
        return [Found("an OpenCL device", False, str(error), allows="compile, run", fix=INSTALL)]


TOOLCHAIN = Toolchain(find=find, build=build, version=version)
