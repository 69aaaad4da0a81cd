"""Translates errors that Python or TVM raise while a kernel's body runs into errors of the language.

Python does not know values of the kernel: `list indices must be integers, not Var` means that a list was indexed with
a value that is known only when the kernel runs. Exceptions that the user raises (``raise ValueError(...)``) stay.
"""

from __future__ import annotations

import linecache
import re
import traceback
from types import FrameType
from typing import TYPE_CHECKING

from tilecore.errors import LanguageError, Location, TilecoreError, WrongTypeError
from tilecore.frontend.call_errors import call_error, language_call, signature_error
from tilecore.frontend.name_errors import NoSuchAttributeError, attribute_error, name_error
from tilecore.frontend.value_descriptions import description_of, descriptions, first_line, plain
from tilecore.ir.nodes import Expr, TensorRegion
from tilecore.language.buffers import BufferHandle
from tilecore.language.dialects import backend_fault
from tilecore.language.known_elsewhere import written_here
from tilecore.language.values import KernelValue, is_kernel_value

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder

_OF_ARGUMENTS = (TypeError, ValueError, AttributeError, IndexError, KeyError, OverflowError, ZeroDivisionError)
_FOREIGN = re.compile(r"\b((?:torch|np|numpy|math|jnp|tl|F)(?:\.\w+)*\.(\w+))\(")


def explained(error: Exception, builder: Builder) -> TilecoreError | None:
    """The error to raise instead of ``error``, which ended the run of a kernel's body; None if the user raised it."""
    explanation = _explained(error, builder)
    return None if explanation is None else explanation.at(builder.location)


def _explained(error: Exception, builder: Builder) -> TilecoreError | None:
    text = str(error)
    if isinstance(error, RecursionError):
        return _recursion_error(error)
    if text.startswith("Cannot use and / or / not operator to Expr"):
        return LanguageError(
            "a value of the kernel is used as a Python condition",
            hint=foreign_hint(builder.location)
            or "write `if`, `and`, `or` and `not` directly in the kernel or in a T.macro, or use T.if_then_else; "
            "for values of the kernel use T.max, T.min, T.all_of and T.any_of instead of max, min, all and any",
        )
    if isinstance(error, NameError):
        return name_error(error, builder)
    if re.match("cannot unpack non-iterable (Const|Derived)Dim", text):
        return WrongTypeError(
            "several names are assigned one size of T.const", hint='a text with a name for each: M, N = T.const("M, N")'
        )
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if frames and _is_of_tvm(frames[-1].f_code.co_filename):
        return LanguageError(first_line(text) or type(error).__name__)
    fault = backend_fault(error)
    if fault is not None:
        return fault
    if not isinstance(error, _OF_ARGUMENTS) or not frames:
        return None
    called = language_call(frames)
    if called is not None and called.f_code.co_name == "__getattr__":
        return NoSuchAttributeError(text if " " in text else f"{description_of(called.f_locals['self'])}: no {text!r}")
    if called is not None:
        return call_error(error, called)
    found = signature_error(error, frames[-1]) or _operation_error(
        error, builder.location, _reads_values(frames, builder.location)
    )
    return attribute_error(error, builder) if found is None and isinstance(error, AttributeError) else found


def foreign_hint(location: Location | None) -> str | None:
    """What to write instead of another library's function in the statement at ``location``."""
    for whole, name in _FOREIGN.findall(_statement(location)):
        instead = written_here(name)
        if instead is not None:
            return f"{whole} does not know values of the kernel: {instead}"
    return None


def _statement(location: Location | None) -> str:
    if location is None:
        return ""
    lines = [
        linecache.getline(location.file, n) for n in range(location.line, (location.end_line or location.line) + 1)
    ]
    return "".join(lines)


def _recursion_error(error: RecursionError) -> LanguageError:
    """The error for a macro or a helper function that calls itself without end."""
    names: list[str] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        function = frame.f_locals.get("function") if frame.f_code.co_name == "call_macro" else None
        if function is not None and function.__name__ not in names:
            names.append(function.__name__)
    who = f"the macro {names[0]} calls itself" if names else "a function that the kernel calls calls itself"
    return LanguageError(
        f"{who} without end",
        found=f"calls of {', '.join(names)}" if len(names) > 1 else None,
        expected="a recursion that ends while the kernel is built, for example by counting a Python number down",
        hint="both sides of an `if` on a value of the kernel are built, so that it cannot end the recursion: use a "
        "`while` loop",
    )


def _reads_values(frames: list[FrameType], location: Location | None) -> bool:
    """Does the statement use a name whose value is one of the kernel?"""
    frame = next((f for f in frames if location is not None and f.f_code.co_filename == location.file), None)
    names = set(re.findall(r"[A-Za-z_]\w*", _statement(location)))
    return frame is not None and any(is_kernel_value(frame.f_locals.get(name)) for name in names)


# -- exceptions out of tilecore and TVM ------------------------------------------------------------------------------


def _is_of_tvm(file: str) -> bool:
    """Is it a file of TVM?"""
    file = file.replace("\\", "/")
    return any(part in file for part in ("/tvm/", "/tvm_ffi/")) or (not file.endswith((".py", ">")) and "/" in file)


# -- Python operations on values of the kernel -----------------------------------------------------------------------


def _operation_error(error: Exception, location: Location | None, reads_values: bool) -> LanguageError | None:
    """An operation of Python's, or of a library of the user's, on a value of the kernel."""
    if isinstance(error, KeyError):
        if not error.args or not is_kernel_value(error.args[0]):
            return None
        return _lookup_error("dict")
    text = str(error)
    if isinstance(error, AttributeError):
        return _attribute_error(error)
    types = [name for pair in _TYPES.findall(text) for name in pair if name in descriptions()]
    if not types and not (reads_values and isinstance(error, (TypeError, IndexError))):
        return None
    indexed = _INDICES.match(text)
    if indexed:
        return _lookup_error(indexed[1] if indexed[1] in ("list", "tuple", "string", "range") else "array")
    instead = foreign_hint(location)
    if instead is not None:
        return WrongTypeError("a function of another library is called with a value of the kernel", hint=instead)
    if isinstance(error, IndexError):
        return None
    description = descriptions()[types[0]] if types else "a value of the kernel"
    return WrongTypeError(f"Python cannot do this with {description}: {plain(text)}", hint=_hint_for(text))


def _hint_for(text: str) -> str | None:
    return next((hint for part, hint in _HINTS.items() if part in text), None)


_HINTS = {
    "has no len()": "buffer.shape has its sizes",
    "cannot be interpreted as an integer": "it is known only when the kernel runs: T.serial(n) loops so many times",
    "not callable": "brackets index it: A[i, j]",
    "not iterable": "T.Parallel, T.serial and T.grid loop over indices",
}
_TYPES = re.compile(r"'([\w.]+)'|\b(?:not|type) (\w+)")
_INDICES = re.compile(r"^(list|tuple|string|range|only integers, slices|slice)\b.* ?\b(?:indices|slices)\b")


def _lookup_error(container: str) -> LanguageError:
    if container == "dict":
        return WrongTypeError(
            "a Python dict is looked up with a value of the kernel",
            expected="a key that is known when compiling",
            hint="put the values into a tensor parameter, or choose among them with T.if_then_else",
        )
    return WrongTypeError(
        f"a Python {container} is indexed with a value of the kernel, which is known only when the kernel runs",
        expected="an index that is known when compiling",
        hint="loop with `for x in values` or `for i in [0, 1, 2]`, which Python unrolls; or put the values into a "
        "tensor parameter, or into T.alloc_local memory, one by one",
    )


_METHODS = {
    **dict.fromkeys(("to", "astype", "type"), "T.cast(x, dtype) converts a value"),
    **dict.fromkeys(("float", "half", "int", "bfloat16", "long"), 'T.cast(x, "float32") and the like convert a value'),
    "item": "it is a number of the kernel already: use it as it is",
    "T": "T.transpose(src, dst) transposes a tile",
    "permute": "T.transpose(src, dst) transposes a tile",
    "size": "buffer.shape has its sizes",
    "numel": "buffer.shape has its sizes",
    "contiguous": "leave it out: tiles have no strides",
}


def _attribute_error(error: AttributeError) -> LanguageError | None:
    """An attribute that a value of the kernel does not have, such as a method of torch's tensors."""
    value, name = getattr(error, "obj", None), getattr(error, "name", None) or ""
    if not isinstance(value, (KernelValue, TensorRegion, Expr)):
        return None
    instead = _METHODS.get(name) or written_here(name)
    if instead is None and isinstance(value, (BufferHandle, TensorRegion)) and name in ("mean", "std", "var"):
        instead = "T.reduce_sum(tile, out, dim=...) sums; divide it"
    return NoSuchAttributeError(f"{description_of(value)} has no attribute {name!r}", hint=instead)
