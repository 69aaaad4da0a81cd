"""Compiles source to a cubin by NVRTC, in this process, through cuda-python."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.errors import ToolchainError

_FIX = "pip install 'tile-cuda[nvrtc]' (or cuda-bindings and nvidia-cuda-nvrtc of torch's CUDA version)"


class Nvrtc:
    """The library that ``cuda.bindings.nvrtc`` loads; raises the error of the bindings where they find none."""

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
        """(the cubin, or None where the compiler rejects the source; its messages). headers: the texts by name."""
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
        """The bytes that ``function`` writes; ``functionSize`` returns their count.

        The memory is a new bytearray, not a bytes object: CPython shares the bytes objects of length 1, and writing an
        empty log (one NUL) would change such an object for the whole process.
        """
        memory = bytearray(self._call(f"{function}Size", program))
        self._call(function, program, memory)
        return bytes(memory)

    def _call(self, function: str, *arguments: Any) -> Any:
        """The results of the function without its status. Raises ToolchainError where the status is an error."""
        code, *results = getattr(self._api, function)(*arguments)
        if code:
            raise ToolchainError(f"{function} failed: {self._name(code)}", found=f"NVRTC {self.version}")
        return results[0] if len(results) == 1 else results

    def _name(self, code: Any) -> str:
        return self._api.nvrtcGetErrorString(code)[1].decode()


@functools.lru_cache(maxsize=1)
def load() -> Nvrtc:
    """The run-time compiler of this machine. Raises ToolchainError where there is none."""
    try:
        return Nvrtc()
    except ImportError as error:
        raise ToolchainError("the run-time compiler NVRTC is not installed", found=str(error), hint=_FIX) from None
    except Exception as error:  # an error of the bindings: the library is not found or cannot be loaded
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ToolchainError("the run-time compiler NVRTC cannot be loaded", found=lines[0], hint=_FIX) from None
