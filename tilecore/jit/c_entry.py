"""A kernel as a function in C with plain pointers, sizes and a stream, for programs without Python; and its header.

    int scale(const float *A, float s, float *B, int64_t n);

The arguments are the kernel's parameters in their order (tensors as the addresses of their first elements), then the
sizes that are known only at the call, then, on devices that have streams, the stream. The function checks what it can
without knowing the tensors: sizes, alignment, missing pointers, and what the kernel assumes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tilecore.artifact.records import Artifact, ScalarParam, TensorParam
from tilecore.codegen.literals import quoted
from tilecore.dtypes import FACTS
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.jit.host_sizes import SIZE_FUNCTIONS, allocations, dim_text, require_allocation
from tilecore.runtime.call_plan import CallPlan, make_plan
from tilecore.runtime.size_text import shape_text, sizes_text

if TYPE_CHECKING:
    from tilecore.contract.adapter import HostCode

# Names that no argument and no function can have: C's keywords (ISO C17, 6.4.1), C++'s ([lex.key]), and others' macros.
_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
    constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long main mutable namespace new noexcept
    not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq linux unix NULL errno stdin
    stdout stderr slots grids stream std FILE va_list environ asm access alarm brk chdir chown crypt dup dup2 fork fsync
    getcwd getpid isatty kill link lseek nice pause pipe pread pwrite raise rmdir signal sleep swab symlink sync
    truncate unlink usleep vfork wait
    """.split()
)
# Names that the implementation has for itself (ISO C17, 7.1.3), and names of headers that this one or its users
# include: types, macros, functions of the standard library, and of what the library itself is made of.
_OF_LIBRARIES = re.compile(
    r"_[A-Z_].*|_init|_fini"
    r"|(tc_|tcu_|tilecore_|omp_|GOMP_|pthread_|dl(open|sym|close|error)).*|.*_t|U?INT\w*|SIZE_MAX|E[A-Z0-9]+"
    r"|[fs]?n?(printf|scanf)|puts|putchar|getchar|f?(open|close|read|write|flush|seek|tell)|remove|rename"
    r"|(m|c|re|aligned_)alloc|free|exit|abort|atexit|system|getenv|qsort|bsearch|rand|srand|l?l?abs|l?div"
    r"|ato[ifl]|strto\w+|mem(cpy|move|set|cmp|chr)|str(len|cpy|cat|cmp|chr|str|tok|dup)\w*|time|clock|typeof|offsetof"
    r"|(a?(sin|cos|tan)h?|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|ceil|floor|trunc|l?l?r(int|ound)|round"
    r"|nearbyint|fabs|fmod|remainder|fmin|fmax|fdim|fma|erfc?|[lt]gamma|copysign|nan|ldexp|frexp|modf|j[01n]|y[01n]|gamma"
    r"|isnan|isinf|isfinite|signbit|index)[fl]?",
    re.ASCII,
)
_C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}  # others: integers by their names, else void
OK, WRONG_ARGUMENT, NO_MEMORY, FAILED = 0, 1, 2, 3  # what the function returns
_HEAD = r"""
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char tc_message[256];
static inline int tc_fail(int code, const char *text) {
  snprintf(tc_message, sizeof(tc_message), "%s", text);
  return code;
}
"""
_STREAM = r"""
static _Thread_local void *tc_stream;
static inline void *tilecore_stream(int device) {
  (void)device;
  return tc_stream;
}
"""


@dataclass(frozen=True)
class _Argument:
    """One argument of the function: its type and name in C, and what the header says of it."""

    type: str
    name: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.type}{self.name}" if self.type.endswith("*") else f"{self.type} {self.name}"


def c_name(text: str) -> str:
    """A kernel's or a parameter's name as one of C and C++."""
    word = re.sub(r"\W", lambda match: f"u{ord(match[0]):x}", text, flags=re.ASCII)
    is_reserved = word in _RESERVED or _OF_LIBRARIES.fullmatch(word)
    return f"{word}_" if is_reserved else word


def function_name(artifact: Artifact, name: str | None) -> str:
    """The name of the function: ``name``, which C must allow, or the kernel's, with an underscore where it is taken.

    Raises ArgumentError for a name that C or its libraries have already."""
    taken = {entry.symbol for entry in artifact.entries}
    if name is None:
        own = c_name(artifact.name)
        return f"{own}_" if own in taken else own
    is_word = isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    if not is_word or c_name(name) != name or name in taken:
        raise ArgumentError(
            "export_library(): the function in C cannot have this name",
            found=f"name={name!r}",
            expected="letters, digits and _, no word of C's, and no name of its libraries",
        )
    return name


def header_text(artifact: Artifact, code: HostCode, device_type: int, name: str) -> str:
    """The header: the function ``name``, how to call it, and the function that says what went wrong."""
    plan = make_plan(artifact, device_type)
    arguments = _arguments(plan, code)
    guard = f"TILECORE_{name.upper()}_H"
    meanings = "\n".join(f"   {argument.name}: {argument.meaning}" for argument in arguments)
    return f"""/* The kernel {artifact.name}, made by tilecore for the target: {artifact.target} */
#ifndef {guard}
#define {guard}
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

/* Tensors are contiguous, row by row, where no strides are given.
{meanings}
   Returns {OK}; {WRONG_ARGUMENT} for wrong arguments, {NO_MEMORY} for no memory, {FAILED} where the launch fails. */
int {name}({", ".join(map(str, arguments)) or "void"});

/* What went wrong in the last call of {name} by this thread that did not return {OK}. */
const char *{name}_error(void);

#ifdef __cplusplus
}}
#endif
#endif
"""


def c_source(artifact: Artifact, code: HostCode, device_type: int, name: str) -> str:
    """The C source of the function ``name`` and of what the execution backend defines.

    Raises UnsupportedError for workspaces that the execution backend does not allocate, and for scalars of types that C
    does not have."""
    require_allocation(artifact, code)
    artifact = replace(artifact, name=name)  # messages name the function that the program calls
    plan = make_plan(artifact, device_type)
    arguments = _arguments(plan, code)
    export = '__attribute__((visibility("default")))'
    lines = [
        f"// tilecore: the function {name} in C{_HEAD}{SIZE_FUNCTIONS}{_STREAM if code.has_streams else ''}",
        code.source,
        f"{export} const char *{name}_error(void) {{ return tc_message; }}",
        f"{export} int {name}({', '.join(map(str, arguments)) or 'void'}) {{",
        *_body(artifact, plan, code),
        "}",
        "",
    ]
    return "\n".join(lines)


def _arguments(plan: CallPlan, code: HostCode) -> list[_Argument]:
    arguments = [_argument(plan, number) for number in range(len(plan.params))]
    for symbol in plan.symbols:
        if symbol.kind != "scalar":
            of = "a size" if symbol.kind == "shape" else "a stride, in elements"
            arguments.append(_Argument("int64_t", c_name(symbol.name), f"{of}, {symbol.low} to {symbol.high}"))
    if code.has_streams:
        arguments.append(_Argument("void *", "stream", "the stream that the kernel runs on; NULL: the default one"))
    _require_different(plan, [argument.name for argument in arguments])
    return arguments


def _require_different(plan: CallPlan, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UnsupportedError(
                f"{plan.name}: two arguments of the function in C would be named {name!r}",
                hint="rename a parameter of the kernel, or a size: T.dynamic(name)",
            )
        seen.add(name)


def _argument(plan: CallPlan, number: int) -> _Argument:
    param = plan.params[number]
    name = c_name(param.name)
    kind = _C_TYPES.get(param.dtype, f"{param.dtype}_t" if FACTS[param.dtype].kind in ("int", "uint") else "void")
    if isinstance(param, ScalarParam):
        if kind == "void":
            raise UnsupportedError(
                f"{plan.name}: C has no number of type {param.dtype}",
                found=param.name,
                hint=f"declare {param.name} as T.float32, and cast it in the kernel",
            )
        return _Argument(kind, name, f"a number of type {param.dtype}")
    if param.packed > 1:
        kind = "void"
    uses = {"r": "read", "w": "written", "rw": "read and written"}[param.access]
    strides = "" if param.strides is None else f" with strides {sizes_text(param.strides)}"
    packed = "" if param.packed == 1 else f", {param.packed} in a byte"
    aligned = "" if param.align <= FACTS[param.dtype].bits // 8 else f", at a multiple of {param.align} bytes"
    meaning = f"{shape_text(param)}{strides} of {param.dtype}{packed}, {uses}{aligned}"
    const = "const " if param.access == "r" else ""
    return _Argument(f"{const}{kind} *", name, meaning)


def _body(artifact: Artifact, plan: CallPlan, code: HostCode) -> list[str]:
    tensors, scalars = plan.tensors, plan.scalars
    behind = len(tensors) + len(artifact.workspaces)  # slots of tensors, workspaces, scalars, sizes
    slots = behind + len(scalars) + len(artifact.symbols)
    names = {symbol.name: f"tc_size_{number}" for number, symbol in enumerate(plan.symbols)}
    device = "tc_device" if code.finds_device else "0"
    lines = [f"  int64_t slots[{slots + len(code.sizes) + 1}] = {{0}}, grids[{4 * len(artifact.entries) + 1}];"]
    for place, number in enumerate(scalars):
        name = c_name(artifact.params[number].name)
        is_float = FACTS[artifact.params[number].dtype].kind == "float"
        at = f"slots[{behind + place}]"
        lines.append(f"  memcpy(&{at}, &{name}, sizeof({name}));" if is_float else f"  {at} = (int64_t){name};")
    for place, symbol in enumerate(plan.symbols):
        source = artifact.params[symbol.param].name if symbol.kind == "scalar" else symbol.name
        lines.append(f"  const int64_t {names[symbol.name]} = (int64_t){c_name(source)};  // {symbol.name}")
        lines += _within(plan, symbol.name, symbol.low, symbol.high, names[symbol.name])
        lines.append(f"  slots[{behind + len(scalars) + place}] = {names[symbol.name]};")
    for assumption in artifact.assumptions:
        lines += _check(plan, dim_text(assumption.condition, names), f"Assume: {assumption.text}")
    for place, number in enumerate(tensors):
        lines += _tensor(plan, plan.tensor(number), place, names)
    for number, entry in enumerate(plan.entries):
        for axis, dim in enumerate((*entry.grid, entry.shared_bytes)):
            lines.append(f"  grids[{4 * number + axis}] = {dim_text(dim, names)};")
        if plan.index_bits == 32:
            lines += _check(plan, f"grids[{4 * number}] >= 0", "a tensor is too large for the kernel's indices")
        lines += [
            f"  if (tc_wrong_grid(grids + {4 * number})) {{",
            f'    snprintf(tc_message, sizeof(tc_message), "{plan.name}(): %s", tc_wrong_grid(grids + {4 * number}));',
            f"    return {WRONG_ARGUMENT};",
            "  }",
        ]
    lines += [f"  slots[{slots + at}] = {dim_text(size, names)};" for at, size in enumerate(code.sizes)]
    if code.finds_device:
        lines += [
            "  int tc_device = 0;",
            "  int tc_code = tilecore_current_device(&tc_device);",
            *_failed(plan, code, "tc_code", "the current device is not known, error"),
        ]
    if code.has_streams:
        lines.append("  tc_stream = stream;")
    return [
        *lines,
        *allocations(artifact, len(tensors), device, names, lambda text: f"return tc_fail({NO_MEMORY}, {text});"),
        f"  const int tc_launched = tilecore_launch(slots, grids, {device});",
        *(f"  tilecore_free((void *)slots[{place}], {device});" for place in range(len(tensors), behind)),
        *_failed(plan, code, "tc_launched", "the launch failed with error"),
        f"  return {OK};",
    ]


def _within(plan: CallPlan, symbol: str, low: int, high: int, variable: str) -> list[str]:
    """The check that a size fits its type; the limits of int64_t need none."""
    conditions = []
    if low > -(2**63):
        conditions.append(f"{variable} >= INT64_C({low})")
    if high < 2**63 - 1:
        conditions.append(f"{variable} <= INT64_C({high})")
    return _check(plan, " && ".join(conditions), f"{symbol} must be {low} to {high}") if conditions else []


def _tensor(plan: CallPlan, param: TensorParam, place: int, names: dict[str, str]) -> list[str]:
    name = c_name(param.name)
    elements = " * ".join(f"({dim_text(dim, names)})" for dim in param.shape) or "1"
    numbers = {plan.params[number].name: f"(int64_t){c_name(plan.params[number].name)}" for number in plan.scalars}
    needed = f"({elements}) > 0 && {dim_text(param.needed, {**numbers, **names})}"
    message = f"{param.name} is not at a multiple of {param.align} bytes"
    align = _check(plan, f"slots[{place}] % {param.align} == 0", message)
    return [
        f"  slots[{place}] = (int64_t)(intptr_t){name};",
        *_check(plan, f"{name} != NULL || !({needed})", f"{param.name} is NULL"),
        *align,
    ]


def _check(plan: CallPlan, condition: str, message: str) -> list[str]:
    text = quoted(f"{plan.name}(): {message}")
    return [f"  if (!({condition})) return tc_fail({WRONG_ARGUMENT}, {text});"]


def _failed(plan: CallPlan, code: HostCode, variable: str, message: str) -> list[str]:
    known = [
        f"  if ({variable} == {number}) return tc_fail({FAILED}, {quoted(f'{plan.name}(): {text}')});"
        for number, text in code.errors.items()
    ]
    return [
        *known,
        f"  if ({variable} != 0) {{",
        f'    snprintf(tc_message, sizeof(tc_message), "%s %d", {quoted(f"{plan.name}(): {message}")}, {variable});',
        f"    return {FAILED};",
        "  }",
    ]
