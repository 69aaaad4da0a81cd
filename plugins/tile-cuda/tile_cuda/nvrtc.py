"""Compiles source to a cubin by NVRTC, in this process, through cuda-python."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.errors import ToolchainError

_FIX = "pip install 'tile-cuda[nvrtc]' (or cuda-bindings and nvidia-cuda-nvrtc of torch's CUDA version)"


class Nvrtc:
    """libnvrtc as ``cuda.bindings.nvrtc`` has loaded it; raises what that raises when it finds none."""

    def __init__(self) -> None:
        from cuda.bindings import nvrtc

        self._api = nvrtc
        self.version = "?"
        major, minor = self._call("nvrtcVersion")
        self.version = f"{major}.{minor}"

    @property
    def path(self) -> str:
        """The library's file."""
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return str(load_nvidia_dynamic_lib("nvrtc").abs_path)

    def architectures(self) -> frozenset[int]:
        """Compute capabilities (90 for sm_90) that it compiles for."""
        return frozenset(self._call("nvrtcGetSupportedArchs"))

    def compile(self, source: str, headers: Mapping[str, str], options: Sequence[str]) -> tuple[bytes | None, str]:
        """(the cubin, or None when the source was refused; what the compiler said). headers: text by name."""
        names, texts = [n.encode() for n in headers], [t.encode() for t in headers.values()]
        program = self._call("nvrtcCreateProgram", source.encode(), b"kernel.cu", len(headers), texts, names)
        try:
            (code,) = self._api.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
            log = self._text(program)
            if code:
                return None, log or self._name(code)
            return self._read_bytes("nvrtcGetCUBIN", program), log
        finally:
            self._api.nvrtcDestroyProgram(program)

    def _text(self, program: Any) -> str:
        return self._read_bytes("nvrtcGetProgramLog", program).rstrip(b"\0 ").decode(errors="replace")

    def _read_bytes(self, function: str, program: Any) -> bytes:
        """What ``function`` writes; ``functionSize`` says how many bytes.

        The memory is a bytearray of this call. A bytes object may be shared: CPython has one of each single byte, and
        an empty log is one NUL, which would be written over it for the whole process.
        """
        memory = bytearray(self._call(f"{function}Size", program))
        self._call(function, program, memory)
        return bytes(memory)

    def _call(self, function: str, *arguments: Any) -> Any:
        """What the function gives, without its status; a status that is no success raises ToolchainError."""
        code, *results = getattr(self._api, function)(*arguments)
        if code:
            raise ToolchainError(f"{function} failed: {self._name(code)}", found=f"NVRTC {self.version}")
        return results[0] if len(results) == 1 else results

    def _name(self, code: Any) -> str:
        return self._api.nvrtcGetErrorString(code)[1].decode()


@functools.lru_cache(maxsize=1)
def load() -> Nvrtc:
    """The run-time compiler of this machine; raises ToolchainError when there is none."""
    try:
        return Nvrtc()
    except ImportError as error:
        raise ToolchainError("the run-time compiler NVRTC is not installed", found=str(error), hint=_FIX) from None
    except Exception as error:  # the bindings' own, when the library is not found or cannot be loaded
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ToolchainError("the run-time compiler NVRTC cannot be loaded", found=lines[0], hint=_FIX) from None
