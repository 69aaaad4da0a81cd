"""Compiles an artifact's program by torch and launches its kernels on torch's tensors."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

from tile_metal.packed_scalars import ATTRIBUTE
from tile_metal.runtime import checks, messages
from tile_metal.runtime.scalars import cast_of, readers
from tile_metal.runtime.torch_module import LATE, LOCK
from tilecore.artifact.records import Artifact, Entry, TensorParam
from tilecore.errors import ArgumentError, LaunchError

# programs that were compiled in this process and are still loaded, by their text
_programs: weakref.WeakValueDictionary[bytes, Program] = weakref.WeakValueDictionary()


class Program:
    """A library of kernels that torch compiled."""

    def __init__(self, library: Any) -> None:
        self.library = library


class TorchLaunch:
    """``launch(slots, grids, stream, tensors)`` for the kernels of one artifact."""

    def __init__(self, artifact: Artifact, torch: Any) -> None:
        checks.check_program(artifact)
        self.artifact = artifact
        self._torch = torch
        self._program = _compiled(artifact, torch)
        self._kernels = [self._kernel(entry) for entry in artifact.entries]
        self._names = [p.name for p in artifact.params if isinstance(p, TensorParam)]
        self._first_scalar = len(self._names) + len(artifact.workspaces)
        dtypes = checks.scalar_dtypes(artifact)
        self._readers = readers(dtypes)
        casts = {self._first_scalar + i: cast_of(dtype) for i, dtype in enumerate(dtypes)}
        self._casts = {index: cast for index, cast in casts.items() if cast} or None
        self._buffer: Any = None

    def _kernel(self, entry: Entry) -> Any:
        try:
            kernel = getattr(self._program.library, entry.symbol)
            threads, static_bytes = kernel.max_threads_per_threadgroup, kernel.static_thread_group_memory_length
        except Exception as error:  # torch has several types for it
            raise checks.refused_program(self.artifact, _compiler(self._torch), str(error)) from None
        checks.check_pipeline(entry, threads, static_bytes)
        return kernel

    def __call__(self, slots: int, grids: int, stream: int, tensors: Sequence[Any]) -> int:
        tensor_class = self._torch.Tensor
        for name, tensor in zip(self._names, tensors, strict=False):
            if not isinstance(tensor, tensor_class):
                raise ArgumentError(
                    f"{self.artifact.name}(): {name} is no tensor of torch",
                    found=f"a {type(tensor).__name__}",
                    expected='a torch tensor on the device "mps"',
                )
        count = self._first_scalar + len(self._readers)
        words = (ctypes.c_int64 * count).from_address(slots)
        scalars: list[Any] = [read(words[self._first_scalar + i]) for i, read in enumerate(self._readers)]
        packed = [words[self._first_scalar : count]]  # torch makes an array of it, of 8 bytes each
        sizes = (ctypes.c_int64 * (4 * len(self._kernels))).from_address(grids)
        with LOCK:
            for number, (kernel, entry) in enumerate(zip(self._kernels, self.artifact.entries, strict=True)):
                x, y, z = sizes[4 * number : 4 * number + 3]
                if x and y and z:
                    checks.check_grid(entry, (x, y, z))
                    further = packed if entry.attributes.get(ATTRIBUTE) else scalars
                    self._start(kernel, entry, (x, y, z), [*tensors, *further])
        return 0

    @property
    def _messages(self) -> Any:
        """The message buffer. An ordinary tensor in every mode of torch, as launches in other modes write it."""
        if self._buffer is None:
            with self._torch.inference_mode(False):
                self._buffer = self._torch.zeros(messages.BUFFER_WORDS, dtype=self._torch.int32, device="mps")
        return self._buffer

    def _start(self, kernel: Any, entry: Entry, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        """torch counts the threads of the grid, not its threadgroups."""
        block = entry.threads
        threads = [grid[0] * block[0], grid[1] * block[1], grid[2] * block[2]]
        writes = messages.writes_messages(entry)
        buffers = (self._messages,) if writes else ()
        try:
            if writes:
                self._messages[: messages.HEAD_WORDS].zero_()
            casts = None if entry.attributes.get(ATTRIBUTE) else self._casts
            kernel(*arguments, *buffers, threads=threads, group_size=list(block), arg_casts=casts)
            if writes:
                self._report(entry)
        except (RuntimeError, ValueError, TypeError) as error:
            if isinstance(error, LaunchError):
                raise
            raise LaunchError(
                f"{self.artifact.name} failed: {entry.symbol}: {error}",
                found=f"grid {grid}, threads {block}",
                hint=LATE,
            ) from None

    def _report(self, entry: Entry) -> None:
        """Waits, then prints what the kernel wrote. Raises LaunchError for failed assertions."""
        head = self._bytes(0, messages.HEAD_WORDS)
        used = messages.words_used(head)
        memory = self._bytes(messages.HEAD_WORDS, messages.HEAD_WORDS + used) if used else b""
        if used:  # a record that a later kernel reserves and does not write must have no head
            self._messages[messages.HEAD_WORDS : messages.HEAD_WORDS + used].zero_()
        messages.report(self.artifact.name, entry, messages.read(entry, head, memory))

    def _bytes(self, start: int, end: int) -> bytes:
        """The bytes of words of the message buffer, on the host."""
        words = self._messages[start:end].cpu()
        return ctypes.string_at(words.data_ptr(), 4 * (end - start))


def _compiled(artifact: Artifact, torch: Any) -> Program:
    with LOCK:
        program = _programs.get(artifact.binary)
        if program is None:
            try:
                library = torch.mps.compile_shader(artifact.binary.decode())
            except Exception as error:  # torch has several types for it
                raise checks.refused_program(artifact, _compiler(torch), str(error)) from None
            program = _programs[artifact.binary] = Program(library)
        return program


def _compiler(torch: Any) -> str:
    return f"Metal, called by torch {torch.__version__},"
