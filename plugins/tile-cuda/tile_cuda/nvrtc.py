"""The run-time compiler in this process, through ctypes: source to cubin without a file or another process."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence

from tile_cuda import search
from tilecore.errors import ToolchainError

_FIX = "pip install 'tile-cuda[nvrtc]' (or nvidia-cuda-nvrtc of torch's CUDA version), or install the CUDA toolkit"


class Nvrtc:
    """A loaded libnvrtc."""

    def __init__(self, path: str) -> None:
        """Raises OSError when ``path`` cannot be loaded."""
        self.path = path
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def architectures(self) -> frozenset[int]:
        """Compute capabilities (90 for sm_90) that it compiles for."""
        count = ctypes.c_int()
        if self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count)):
            return frozenset()
        found = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(found)
        return frozenset(found)

    def compile(self, source: str, headers: Mapping[str, str], options: Sequence[str]) -> tuple[bytes | None, str]:
        """(the cubin, or None when the source was refused; what the compiler said). headers: text by name."""
        library = self._library
        program = ctypes.c_void_p()
        names = (ctypes.c_char_p * len(headers))(*(n.encode() for n in headers))
        texts = (ctypes.c_char_p * len(headers))(*(t.encode() for t in headers.values()))
        code = library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", len(headers), texts, names
        )
        self._check(code, "nvrtcCreateProgram")
        try:
            words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
            code = library.nvrtcCompileProgram(program, len(options), words)
            log = self._text(program)
            if code:
                return None, log or self._name(code)
            size = ctypes.c_size_t()
            self._check(library.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
            binary = ctypes.create_string_buffer(size.value)
            self._check(library.nvrtcGetCUBIN(program, binary), "nvrtcGetCUBIN")
            return binary.raw, log
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        if self._library.nvrtcGetProgramLogSize(program, ctypes.byref(size)) or size.value <= 1:
            return ""
        text = ctypes.create_string_buffer(size.value)
        self._library.nvrtcGetProgramLog(program, text)
        return text.value.decode(errors="replace")

    def _name(self, code: int) -> str:
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return (self._library.nvrtcGetErrorString(code) or b"unknown error").decode()

    def _check(self, code: int, what: str) -> None:
        if code:
            raise ToolchainError(f"{what} failed: {self._name(code)}", found=f"NVRTC {self.version} at {self.path}")


@functools.lru_cache(maxsize=1)
def load() -> Nvrtc:
    """The run-time compiler of this machine; raises ToolchainError when there is none."""
    candidates, looked = search.nvrtc()
    for path in candidates:
        try:
            return Nvrtc(path)
        except (OSError, AttributeError):
            continue
    raise ToolchainError(
        "the run-time compiler NVRTC was not found", found="looked in " + ", ".join(looked[:8]), hint=_FIX
    )
