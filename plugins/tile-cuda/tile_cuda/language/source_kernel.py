"""T.CUDASourceCodeKernel: a kernel whose code is CUDA C++ source text.

The entry of the text, a ``__global__`` function, becomes a device function that a kernel of the compiler calls. Its
arguments are all tensors of the user's function, then its scalar parameters and named sizes (T.dynamic).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from tile_cuda.operations import KIND
from tilecore.errors import LanguageError
from tilecore.ir.attributes import KernelHint
from tilecore.ir.nodes import Evaluate, Var, tirx
from tilecore.ir.visit import collect
from tilecore.language.buffers import BufferHandle
from tilecore.language.dialects import dialect_hints
from tilecore.language.hints import annotate
from tilecore.language.kernel import Kernel
from tilecore.language.pointers import Pointer, access_ptr
from tilecore.tracing.current import current

NAME = "T.CUDASourceCodeKernel"
_ATTRIBUTES = r"(?:__launch_bounds__\s*\([^)]*\)|__cluster_dims__\s*\([^)]*\))\s*"
_ENTRY = re.compile(
    rf'(?:extern\s+"C"\s+)?(?:static\s+)?__global__\s+(?:{_ATTRIBUTES})*void\s+(?:{_ATTRIBUTES})*(\w+)\s*(?=\()'
)
_MARKS_OF_SOURCE = ("\n", "__global__", 'extern "C"', "#include")
_FILE_ENDINGS = (".cu", ".cuh", ".cuda", ".cpp", ".cc", ".c")
# Arguments of the entry: pointers convert to the type of its parameter
_ARGUMENTS = """
#ifndef TC_SOURCE_ARGUMENTS
#define TC_SOURCE_ARGUMENTS
struct tc_source_pointer {
  const volatile void* at;
  template <class T> TC_FN operator T*() const { return (T*)at; }
};
template <class T> TC_FN tc_source_pointer tc_source_argument(T* pointer) { return {pointer}; }
template <class T> TC_FN T tc_source_argument(T value) { return value; }
#endif
"""


class MissingSourceError(LanguageError, FileNotFoundError):
    """The source file of a T.CUDASourceCodeKernel does not exist."""


def CUDASourceCodeKernel(
    *blocks: Any,
    threads: int | Sequence[int] | None = None,
    source_code_or_path: str | os.PathLike[str],
    entry_name: str = "main_kernel",
    cluster_dims: Any = None,
    prelude: str | None = None,
) -> None:
    """A T.Kernel whose code is the ``__global__`` function ``entry_name`` of a CUDA C++ source.

    source_code_or_path: the source text, or the path of a file. The function gets all tensors of the enclosing kernel
    function, as pointers, and then its scalar parameters and T.dynamic sizes, each in the order of declaration. It has
    no dynamic shared memory. blocks, threads, cluster_dims, prelude: as of T.Kernel. Raises LanguageError where the
    source has no such function, MissingSourceError where there is no such file.
    """
    builder = current(NAME)
    source = _source_text(source_code_or_path)
    entries = list(dict.fromkeys(match.group(1) for match in _ENTRY.finditer(source)))
    if entry_name not in entries:
        raise LanguageError(
            f"the source of {NAME} has no __global__ function {entry_name!r}",
            found=f"Available entries: {', '.join(entries) or 'none'}",
            expected=f'extern "C" __global__ void {entry_name}(...) in the source',
            hint="entry_name= tells which function of the source is the kernel",
        ).at(builder.location)
    tensors, scalars = _parameters()
    kernel = Kernel(*blocks, threads=threads, prelude=prelude, cluster_dims=cluster_dims)
    kernel.__enter__()
    called = f"tc_source_{entry_name}"
    annotate(KernelHint.IMPORT_SOURCE, _as_function(source, entry_name, called), hints=dialect_hints(KIND, NAME))
    arguments = [access_ptr(tensor, "rw") for tensor in tensors] + scalars
    builder.emit(Evaluate(tirx.call_extern("void", called, *arguments, span=builder.span), span=builder.span))
    kernel.__exit__(None, None, None)


def _source_text(source_code_or_path: str | os.PathLike[str]) -> str:
    source = os.fspath(source_code_or_path)
    if not isinstance(source, str) or not source.strip():
        raise LanguageError(f"{NAME} has no source", expected="source_code_or_path=, a text or the path of a file")
    if any(mark in source for mark in _MARKS_OF_SOURCE):
        return source
    path = os.path.expanduser(source)
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return file.read()
    if os.sep in source or source.endswith(_FILE_ENDINGS):
        raise MissingSourceError(
            f"the source file of {NAME} does not exist", found=source, expected="a text, or the path of a file"
        ).at(current(NAME).location)
    return source


def _parameters() -> tuple[list[BufferHandle], list[Any]]:
    """The tensors of the function that is being built, and its scalar parameters and named sizes."""
    values = current(NAME).parameters
    tensors = [value for value in values if isinstance(value, BufferHandle)]
    tensors += [BufferHandle(value.declared()) for value in values if isinstance(value, Pointer)]
    scalars = [value for value in values if isinstance(value, Var)]
    sizes = (size for tensor in tensors for size in tensor.shape if not isinstance(size, int))
    named = (var for size in sizes for var in collect(size, Var))
    return tensors, list({str(var.name): var for var in (*scalars, *named)}.values())


def _as_function(source: str, entry_name: str, called: str) -> str:
    """The source with its entry as a function of the device, and the function ``called`` that calls it.

    The entry gets another name: a kernel of the compiler may have its name.
    """

    def replaced(match: re.Match[str]) -> str:
        return f"TC_FN void tc_entry_{entry_name}" if match.group(1) == entry_name else match.group(0)

    forward = (
        f"template <class... Arguments> TC_FN void {called}(Arguments... arguments) {{\n"
        f"  tc_entry_{entry_name}(tc_source_argument(arguments)...);\n}}\n"
    )
    return f"{_ENTRY.sub(replaced, source)}\n{_ARGUMENTS}{forward}"
