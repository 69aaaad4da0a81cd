"""A "compiler" that keeps the source's bytes, and says where it looked for it."""

from __future__ import annotations

from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import ToolchainError


def find() -> list[Found]:
    return [
        Found("sample compiler", True, "built in", version="1.0", allows="compile"),
        Found("sample profiler", False, "/opt/sample", allows="profile", fix="pip install sample-profiler"),
    ]


def build(request: BuildRequest) -> tuple[bytes, str]:
    if not request.source.strip():
        raise ToolchainError("sample compiler: empty source", found=request.name)
    return request.source.encode(), "text"


TOOLCHAIN = Toolchain(find=find, build=build, version=lambda target: "1.0")
