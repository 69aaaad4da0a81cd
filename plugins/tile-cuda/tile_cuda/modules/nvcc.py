"""``tilecore.contrib.nvcc``: the CUDA toolkit of this machine, and facts about compute capabilities."""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile_cuda import architectures, nvcc, search
from tile_cuda.devices import first_device
from tile_cuda.target import architecture_of
from tilecore.errors import ArgumentError, ToolchainError
from tilecore.plugins import manager

_FORMATS = ("ptx", "cubin", "fatbin")


def get_target_compute_version(target: Any = None) -> str:
    """The compute capability of a target, such as "9.0"; without a target that of the first device.

    Raises ValueError where there is neither.
    """
    if target is not None:
        _, resolved = manager.resolve(target)
        if resolved.kind == "cuda":
            capability = architecture_of(resolved).capability
            return f"{capability // 10}.{capability % 10}"
    device, reason = first_device()
    if device is None:
        raise ValueError(f"no target with an architecture was given, and there is no device: {reason}")
    return f"{device.capability[0]}.{device.capability[1]}"


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """(9, 0) for "9.0". Raises ValueError for another form."""
    major, dot, minor = str(compute_version).partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        raise ValueError(f'{compute_version!r} is not a compute capability, such as "9.0"')
    return int(major), int(minor)


def get_target_arch(compute_version: str | tuple[int, int]) -> str:
    """The number of the architecture to compile for, such as "90a" for "9.0"."""
    major, minor = parse_compute_version(compute_version) if isinstance(compute_version, str) else compute_version
    return architectures.of_device(major, minor).name.removeprefix("sm_")


def find_cuda_path() -> str:
    """The folder of the CUDA toolkit. Raises RuntimeError where there is none."""
    path, tried = search.nvcc()
    if path is None:
        raise RuntimeError(f"no CUDA toolkit: nvcc is not at {', '.join(tried[:8])}")
    return str(path.parent.parent)


def discover_cuda_include_paths(cuda_home: str, machine: str | None = None, system: str | None = None) -> list[str]:
    """The folders of a CUDA toolkit that have headers, of a package's layout (``include``) or a system's
    (``targets/x86_64-linux/include``); where there are none, those of a system.

    machine, system: of ``platform.machine()`` and ``sys.platform``; this machine's where they are left out.
    """
    flat = Path(cuda_home) / "include"
    if (system or sys.platform).startswith("win"):
        return [str(flat), str(flat / "cccl")]
    name = "sbsa" if (machine or platform.machine()).lower() in ("aarch64", "arm64") else "x86_64"
    of_target = Path(cuda_home) / "targets" / f"{name}-linux" / "include"
    folders = [folder for base in (flat, of_target) for folder in (base, base / "cccl") if folder.is_dir()]
    return [str(folder) for folder in folders or (flat, of_target, of_target / "cccl")]


def get_nvcc_compiler() -> str:
    """The path of nvcc. Raises RuntimeError where there is none."""
    return str(Path(find_cuda_path()) / "bin" / "nvcc")


def get_cuda_version(cuda_path: str | None = None) -> tuple[int, ...]:
    """The version of the toolkit, such as (13, 0). Raises RuntimeError where there is none."""
    if cuda_path is None:
        try:
            version = nvcc.load().version
        except ToolchainError as error:
            raise RuntimeError(str(error)) from error
        return tuple(int(word) for word in version.split(".")[:2])
    answer = subprocess.run([str(Path(cuda_path) / "bin" / "nvcc"), "--version"], capture_output=True, text=True)
    _, _, rest = answer.stdout.partition("release ")
    if not rest:
        raise RuntimeError(f"nvcc of {cuda_path} does not tell its version")
    return tuple(int(word) for word in rest.partition(",")[0].split("."))


def compile_cuda(
    code: str,
    target_format: str = "ptx",
    arch: Any = None,
    options: str | Sequence[str] | None = None,
    path_target: str | None = None,
    verbose: bool = False,
) -> bytearray:
    """The PTX, cubin or fatbin that nvcc makes of CUDA C++.

    arch: what ``-arch=`` takes ("sm_90a"), a list of further options, or None for the first device's. options: of nvcc.
    path_target: a file that is written, too. verbose: print nvcc's messages. Raises ToolchainError with the messages
    where nvcc fails or is not installed, ArgumentError for another format.
    """
    if target_format not in _FORMATS:
        raise ArgumentError(f"nvcc makes no {target_format!r} here", expected=", ".join(_FORMATS))
    if arch is None:
        arch = f"sm_{get_target_arch(get_target_compute_version())}"
    choice = list(arch) if isinstance(arch, (list, tuple)) else [f"-arch={arch}"]
    extra = [options] if isinstance(options, str) else list(options or ())
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        source, output = Path(folder) / "kernel.cu", Path(folder) / f"kernel.{target_format}"
        source.write_text(code)
        command = [str(nvcc.load().path), f"-{target_format}", "-O3", *choice, *extra, "-o", str(output), str(source)]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
        messages = process.stdout + process.stderr
        if process.returncode != 0:
            raise ToolchainError("nvcc does not compile the source", found=messages.replace(folder, ".")[-3000:])
        data = output.read_bytes()
    if verbose and messages:
        print(messages)
    if path_target is not None:
        Path(path_target).write_bytes(data)
    return bytearray(data)


def have_fp16(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (5, 3)


def have_int8(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (6, 1)


def have_bf16(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (8, 0)


def have_fp8(compute_version: str) -> bool:
    return parse_compute_version(compute_version) >= (8, 9)


def have_tensorcore(compute_version: str | None = None, target: Any = None) -> bool:
    return parse_compute_version(compute_version or get_target_compute_version(target)) >= (7, 0)


def have_cudagraph() -> bool:
    """Whether the toolkit has CUDA graphs, as every one since 10.0 has; False where there is no toolkit."""
    try:
        return get_cuda_version() >= (10, 0)
    except RuntimeError:
        return False


def _is_from(target: Any, version: tuple[int, int]) -> bool:
    _, resolved = manager.resolve(target)
    return resolved.kind == "cuda" and parse_compute_version(get_target_compute_version(resolved)) >= version


def have_tma(target: Any) -> bool:
    return _is_from(target, (9, 0))


def have_pdl(target: Any) -> bool:
    return _is_from(target, (9, 0))


def have_mbarrier(target: Any) -> bool:
    """Whether waits on barriers in shared memory are instructions of the chip that other threads' copies complete."""
    return _is_from(target, (9, 0))


def is_hopper(target: Any) -> bool:
    return _is_from(target, (9, 0)) and not _is_from(target, (10, 0))
