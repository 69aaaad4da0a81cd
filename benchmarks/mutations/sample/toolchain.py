"""The compiler of the device, acmecc: the host's, which makes a library of the emitted source."""

from __future__ import annotations

from pathlib import Path

from tilecore import codegen
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import ToolchainError
from tilecore.target import Target

FORMAT = "acme"
INCLUDE = (Path(__file__).parent / "include", Path(codegen.__file__).parent / "include")
FLAGS = ("-DACME=1",)


def find() -> list[Found]:
    """All that is looked for; ``tilecore doctor`` prints it."""
    from tilecore.simulate.compilers import find_compiler

    try:
        compiler = find_compiler()
    except ToolchainError as error:
        return [Found("acmecc", False, error.found, allows="compile", fix=error.hint)]
    return [Found("acmecc", True, compiler.command[0], compiler.version, allows="compile")]


def build(request: BuildRequest) -> tuple[bytes, str]:
    """What an adapter loads, and its format."""
    from tilecore.simulate.build import kernel_library, runtime_library
    from tilecore.simulate.compilers import find_compiler

    compiler = find_compiler()
    flags = [*FLAGS, *request.flags]
    path = kernel_library(compiler, runtime_library(compiler), request.source, request.symbols, INCLUDE, flags)
    return path.read_bytes(), FORMAT


def version(target: Target) -> str:
    """Goes into cache keys: kernels are built anew when the compiler changes."""
    return ", ".join(f"{tool.name} {tool.version}" for tool in find() if tool.present)


TOOLCHAIN = Toolchain(find=find, build=build, version=version)
