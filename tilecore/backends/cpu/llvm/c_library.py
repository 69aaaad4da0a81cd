"""Calls of the C library, whose functions differ by system: glibc's, libSystem's of macOS, the UCRT's of Windows.

Sources: the exported names of libSystem.B.dylib (libSystem.tbd of the macOS SDK) and of ucrtbase.dll.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.types import Value, literal

_OTHER_NAMES = {"windows": {"hypotf": "_hypotf"}}
_STANDARD_OUTPUT = 1  # argument of the UCRT's __acrt_iob_func


def mathematical(fn: Function, name: str, kind: str, operands: Sequence[str]) -> str:
    """One call of a function of floats or doubles by its name without the ending f. operands: names of values of the
    LLVM type ``kind``."""
    if name == "exp10" and fn.module.system != "linux":  # a function of glibc
        ten = literal(10.0, "float32" if kind == "float" else "float64", 1)
        return mathematical(fn, "pow", kind, [ten.text, *operands])
    symbol = name + ("f" if kind == "float" else "")
    symbol = _OTHER_NAMES.get(fn.module.system, {}).get(symbol, symbol)
    fn.module.declare(symbol, f"{kind} {{}}({', '.join([kind] * len(operands))})")
    return fn.op(f"call {kind} @{symbol}({', '.join(f'{kind} {operand}' for operand in operands)})")


def print_line(fn: Function, text: str, operands: Sequence[Value]) -> None:
    """Write a line to standard output. text: for printf; operands: doubles and 64-bit integers, one for each word."""
    if fn.module.system == "windows":
        _print_by_list(fn, text, operands)
    else:
        fn.module.declare("printf", "i32 {}(ptr, ...)")
        arguments = ", ".join([f"ptr {fn.module.string(text)}", *(f"{x.type} {x.text}" for x in operands)])
        fn.op(f"call i32 (ptr, ...) @printf({arguments})")
    fn.module.declare("fflush", "i32 {}(ptr)")
    fn.op("call i32 @fflush(ptr null)")


def _print_by_list(fn: Function, text: str, operands: Sequence[Value]) -> None:
    """The UCRT exports no printf but what its headers make one of, with a va_list: a pointer to slots of 8 bytes."""
    slots = fn.allocate("int64", 1, max(1, len(operands)), "printed")
    for number, operand in enumerate(operands):
        place = fn.op(f"getelementptr i64, ptr {slots}, i64 {number}")
        fn.line(f"store {operand.type} {operand.text}, ptr {place}")
    fn.module.declare("__acrt_iob_func", "ptr {}(i32)")
    fn.module.declare("__stdio_common_vfprintf", "i32 {}(i64, ptr, ptr, ptr, ptr)")
    stream = fn.op(f"call ptr @__acrt_iob_func(i32 {_STANDARD_OUTPUT})")
    arguments = f"i64 0, ptr {stream}, ptr {fn.module.string(text)}, ptr null, ptr {slots}"
    fn.op(f"call i32 @__stdio_common_vfprintf({arguments})")
