"""Thread IR by hand, and emitted source compiled and run by the host's compiler, thread after thread."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilecore.codegen
from tilecore.codegen.c_source import emit_module
from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.ir.contraction import contracted
from tilecore.ir.nodes import AttrStmt, IntImm, IRModule, IterVar, PrimFunc, Var, tirx

HEADER = Path(__file__).with_name("tc_host.h")
PORTABLE = Path(tilecore.codegen.__file__).parent / "include"
COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on PATH")
_room = tempfile.TemporaryDirectory(prefix="tilecore-codegen-")


def _head(kernel: KernelHead) -> str:
    parameters = ", ".join(f"{kind} {name}" for kind, name in kernel.parameters)
    return f'extern "C" void {kernel.symbol}({parameters})'


HOST = Dialect(
    kind="host",
    include="tc_host.h",
    head=_head,
    arena=lambda size: "unsigned char* shared = tc_arena;",
    block_index=("tc_block[0]", "tc_block[1]", "tc_block[2]"),
    thread_index=("tc_thread[0]", "tc_thread[1]", "tc_thread[2]"),
    calls_narrow_abs=True,
)

BX, BY, BZ = (Var(n, "int32") for n in ("bx", "by", "bz"))
TX, TY, TZ = (Var(n, "int32") for n in ("tx", "ty", "tz"))


def buffer(name: str, size: Any, dtype: str = "float32", scope: str = "global") -> Var:
    return tirx.decl_buffer((size,), dtype, name, scope=scope, layout=None)


def kernel(
    params: Sequence[Var], body: Any, grid: Sequence[Any] = (1,), threads: Sequence[int] = (1,), **attributes: Any
) -> PrimFunc:
    """A kernel on BX.. and TX..; ``attributes`` with ``_`` for the dot: ``simt_shared_bytes=...``."""
    func = PrimFunc(list(params), body).with_attr("global_symbol", "k")
    facts = {
        "tile.grid": [*grid, *[IntImm("int32", 1)] * (3 - len(grid))],
        "tile.block_vars": [BX, BY, BZ],
        "tile.threads": [IntImm("int32", t) for t in (*threads, *[1] * (3 - len(threads)))],
        "tile.thread_vars": [TX, TY, TZ],
        **{name.replace("_", ".", 1): value for name, value in attributes.items()},
    }
    for key, value in facts.items():
        func = func.with_attr(key, value)
    return func


def source(func: PrimFunc, dialect: Dialect = HOST) -> str:
    return emit_module(IRModule({"k": func}), dialect).text


def compiled(text: str) -> ctypes.CDLL:
    """The emitted source as a loaded library; warnings are errors."""
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    library = Path(_room.name) / f"{name}.so"
    if not library.exists():
        path = library.with_suffix(".cpp")
        path.write_text(text)
        flags = "-O1 -std=c++17 -shared -fPIC -Wall -Werror -Wno-unknown-pragmas -Wno-unused-variable -ffp-contract=off"
        # a sum that overflows with its sign traps; GCC 12 without this takes (int)(0u - (unsigned)x) / 2 for x / -2
        flags += " -fsanitize=signed-integer-overflow -fsanitize-undefined-trap-on-error"
        flags += " -fno-strict-aliasing -Wno-tautological-compare -Wno-div-by-zero -Wno-bool-operation"
        command = [str(COMPILER), *flags.split(), f"-I{HEADER.parent}", f"-I{PORTABLE}", str(path), "-o", str(library)]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 0, f"{ended.stderr}\n{text}"
    return ctypes.CDLL(str(library))


def run(func: PrimFunc, *arguments: Any, grid: Sequence[int] = (1,), threads: Sequence[int] = (1,)) -> str:
    """Emit, compile and run for all blocks and threads; arrays are passed as they are. Returns the source."""
    text = source(contracted(func))
    library = compiled(text)
    words = [_word(a) for a in arguments]
    block, thread = ((ctypes.c_int * 3).in_dll(library, name) for name in ("tc_block", "tc_thread"))
    for place in itertools.product(*(range(n) for n in reversed([*grid, *[1] * (3 - len(grid))]))):
        block[:] = list(reversed(place))
        for number in itertools.product(*(range(n) for n in reversed([*threads, *[1] * (3 - len(threads))]))):
            thread[:] = list(reversed(number))
            library.k(*words)
    return text


def _word(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def interpreted(func: PrimFunc, *arguments: Any, threads: int = 1) -> None:
    """The same body by the interpreter, as one block of a tile kernel."""
    from tilecore.interpreter import interpret
    from tilecore.ir.nodes import Range

    body = func.body
    for var, extent, tag in ((TX, threads, "threadIdx.x"), (BX, 1, "blockIdx.x")):
        body = AttrStmt(IterVar(Range(0, extent), var, IterVar.ThreadIndex, tag), "thread_extent", extent, body)
    plain = PrimFunc(list(func.params), body).with_attr("global_symbol", "k")
    interpret(plain, *arguments)
