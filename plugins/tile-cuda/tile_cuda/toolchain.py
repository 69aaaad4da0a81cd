"""Compiles source to a cubin, by NVRTC in this process or by nvcc in a child process.

The execution backends "nvrtc" and "nvcc" use the compiler of that name. The others use NVRTC, which is quicker, where
it is installed and supports the architecture, and nvcc otherwise.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tile_cuda import compile_errors, cubin, nvcc, nvrtc, register_allocation, simulated
from tile_cuda.architectures import Architecture
from tile_cuda.cutedsl import package
from tile_cuda.cutedsl.names import LANGUAGE
from tile_cuda.headers import INCLUDE, headers
from tile_cuda.nvrtc_options import nvrtc_options
from tile_cuda.options import FAST_MATH, LINE_DIRECTIVES, REGISTER_USAGE_LEVEL
from tile_cuda.target import architecture_of
from tilecore import debug
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import TargetError, ToolchainError
from tilecore.target import Target

_EXACT = (("fmad", "false"), ("ftz", "false"), ("prec-div", "true"), ("prec-sqrt", "true"))


def build(request: BuildRequest) -> tuple[bytes, str]:
    """Compiles a request to (cubin, format). Raises ToolchainError with the compiler's message and the source lines."""
    if request.adapter == simulated.NAME:  # the simulator compiles the source for the host when it loads the artifact
        return b"", simulated.FORMAT
    if request.adapter == LANGUAGE:
        return package.build(request)
    tool, options = _choose_compiler(request)
    name = "NVRTC" if isinstance(tool, nvrtc.Nvrtc) else "nvcc"

    def compile_with(options: Sequence[str]) -> tuple[bytes | None, str]:
        if not isinstance(tool, nvrtc.Nvrtc):
            return tool.compile(request.source, INCLUDE, options, request.name)
        debug.command(f"NVRTC {tool.version} in this process for {request.name}: {' '.join(options)}")
        return tool.compile(request.source, headers(), options)

    binary, output = register_allocation.compiled(compile_with, options)
    if binary is None:
        raise compile_errors.refused(request.name, f"{name} {tool.version}", request.source, output, options)
    if request.verbose and output.strip():
        print(output.strip())
    return binary, "cubin"


def _choose_compiler(request: BuildRequest) -> tuple[Any, list[str]]:
    """The compiler for a request, and its options."""
    compilers = {"nvrtc": (nvrtc,), "nvcc": (nvcc,)}.get(request.adapter, (nvrtc, nvcc))
    arch = architecture_of(request.target)
    reasons: list[str] = []
    hint = None
    is_unknown_architecture = False
    for module in compilers:
        try:
            tool = module.load()
        except ToolchainError as error:
            reasons.append(error.message + (f" ({error.found})" if error.found else ""))
            hint = hint or error.hint
            continue
        supported = tool.architectures()
        if arch.capability in supported:
            return tool, _options(request, isinstance(tool, nvrtc.Nvrtc))
        is_unknown_architecture = True
        names = ", ".join(f"sm_{n}" for n in sorted(supported))
        reasons.append(
            f"{module.__name__.rpartition('.')[2]} {tool.version} does not support {arch.name} (it supports {names})"
        )
    raise ToolchainError(
        f"there is no compiler for {request.name} on {arch.name}",
        found="; ".join(reasons),
        hint=_hint_on_release(arch) if is_unknown_architecture else hint,
    )


def _hint_on_release(arch: Architecture) -> str:
    """A hint on the CUDA release that supports an architecture which the installed compilers do not support."""
    if arch.capability < 75:
        return f"CUDA 12 supports {arch.name}, and CUDA 13 begins with sm_75: pip install 'nvidia-cuda-nvrtc-cu12'"
    return f"a newer CUDA supports {arch.name}: pip install --upgrade nvidia-cuda-nvrtc, or choose another -arch"


def _options(request: BuildRequest, for_nvrtc: bool) -> list[str]:
    arch = architecture_of(request.target)
    flags = list(request.flags)
    registers = int(request.target.get("max_registers") or 0)
    if registers:
        flags.insert(0, f"-maxrregcount={registers}")
    level = REGISTER_USAGE_LEVEL.value_in(request.config)
    if level is not None:
        if not isinstance(level, int) or not 0 <= level <= 10:
            raise TargetError(f"{REGISTER_USAGE_LEVEL.name} is {level!r}", expected="an int from 0 to 10")
        flags.insert(0, f"--ptxas-options=--register-usage-level={level}")
    if LINE_DIRECTIVES.value_in(request.config) and not {"-lineinfo", "--generate-line-info"} & set(flags):
        flags.insert(0, "-lineinfo")
    is_fast = fast_math(request.config)
    flags = [*(["--use_fast_math"] if is_fast else []), *_exact(flags, is_fast), *flags]
    if for_nvrtc:
        return [f"--gpu-architecture={arch.name}", "--std=c++17", *nvrtc_options(flags)]
    return [f"-gencode=arch={arch.virtual},code={arch.name}", "-std=c++17", *flags]


def _exact(flags: Sequence[str], is_fast: bool) -> list[str]:
    """The options that make the compiler round each +, -, *, / and square root once, as the language defines.

    The emitted source contains the fused multiply-adds; the compiler must not form others, with fast math neither.
    Options that the user's flags set are left out.
    """
    names_of_flags = {flag.lstrip("-").partition("=")[0] for flag in flags}
    if "use_fast_math" in names_of_flags:
        return []
    return [f"--{name}={value}" for name, value in _EXACT[: 1 if is_fast else None] if name not in names_of_flags]


def fast_math(config: Mapping[str, Any]) -> bool:
    """Whether functions, divisions and square roots may be approximate and subnormal numbers are flushed to 0."""
    return bool(FAST_MATH.value_in(config))


def find() -> Sequence[Found]:
    """The tools: NVRTC, nvcc and the driver, with their versions or how to install them."""
    tools = []
    for module, name in ((nvrtc, "NVRTC"), (nvcc, "nvcc")):
        try:
            tool = module.load()
            tools.append(Found(name, True, os.fspath(tool.path), tool.version, "compile"))
        except ToolchainError as error:
            tools.append(Found(name, False, error.found or error.message, "", "compile", error.hint or ""))
    return [*tools, _cutedsl(), _driver()]


def _cutedsl() -> Found:
    hint = f"{package.INSTALL}, for the execution backend {LANGUAGE}"
    if package.missing():
        return Found("CuTe DSL", False, package.missing().partition(";")[0], "", "compile", hint)
    return Found("CuTe DSL", True, package.DISTRIBUTION, package.version(), "compile")


def _driver() -> Found:
    from tile_cuda.driver import DRIVER, Driver, DriverError

    try:
        driver = Driver.shared()
    except DriverError as error:
        return Found("CUDA driver", False, str(error), "", "run", "install NVIDIA's driver; kernels compile without it")
    version = driver.version()
    return Found("CUDA driver", True, DRIVER, f"{version // 1000}.{version % 1000 // 10}", "run")


@functools.lru_cache(maxsize=1)
def _versions() -> str:
    parts = []
    for module, name in ((nvrtc, "nvrtc"), (nvcc, "nvcc")):
        try:
            parts.append(f"{name} {module.load().version}")
        except ToolchainError:
            parts.append(f"no {name}")
    digest = hashlib.sha256(repr(sorted(headers().items())).encode()).hexdigest()[:16]
    return ", ".join([*parts, f"headers {digest}"])


def version(target: Target) -> str:
    """The versions of the installed compilers, and a digest of the headers; part of the keys of the kernel cache."""
    if target.get("language") == LANGUAGE:
        return package.version_for_key()
    return _versions()


def describe(binary: bytes) -> dict[str, dict[str, int]]:
    """The registers and the stack of each kernel of a cubin, or of a binary of CuTe DSL."""
    return package.describe(binary) if package.is_binary(binary) else cubin.describe(binary)


TOOLCHAIN = Toolchain(find=find, build=build, version=version, describe=describe)
