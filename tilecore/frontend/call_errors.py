"""Errors for calls of the language's functions, and of macros, with arguments that they do not take."""

from __future__ import annotations

import inspect
import re
from types import FrameType
from typing import Any

from tilecore.caller import is_own, without_types
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.frontend.value_descriptions import description_of, plain
from tilecore.language.values import is_kernel_value
from tilecore.signatures import complaint_and_hint, keywords_of

_CALL = re.compile(r"^([\w.<>]+)\(\) (takes|missing|got|expected)\b")


def language_call(frames: list[FrameType]) -> FrameType | None:
    """The frame of the language function that raised the exception; None if the user's code raised it."""
    if not is_own(frames[-1].f_code.co_filename):
        return None
    inner: FrameType | None = None
    for frame in reversed(frames):
        file = frame.f_code.co_filename
        if not is_own(file):
            break
        if "/frontend/" not in file.replace("\\", "/"):
            inner = frame
    return inner


def call_error(error: Exception, frame: FrameType) -> LanguageError:
    """Arguments that a function of the language did not expect."""
    import tilecore.language as language

    arguments = inspect.getargvalues(frame)
    owner = arguments.locals.get("self")
    function_name = frame.f_code.co_name
    name = (
        description_of(owner)
        if owner is not None
        else f"T.{function_name}"
        if function_name in language._NAMES
        else "the language"
    )
    argument_names = [*arguments.args, *([arguments.varargs] if arguments.varargs else [])]
    values = {n: arguments.locals.get(n) for n in argument_names if n != "self"}
    values_text = ", ".join(f"{n}={_short(value)}" for n, value in values.items() if value is not None)
    reason = plain(str(error)) or type(error).__name__
    return WrongTypeError(f"{name} got arguments that it cannot use: {reason}", found=values_text or None)


def _short(value: Any) -> str:
    text = repr(value) if not is_kernel_value(value) else description_of(value)
    return text if len(text) <= 40 else text[:37] + "..."


def signature_error(error: Exception, frame: FrameType) -> LanguageError | None:
    """A call of a function of the language, or of a macro, with too many, too few or unknown arguments."""
    match = _CALL.match(str(error))
    if not isinstance(error, TypeError) or match is None:
        return None
    if frame.f_code.co_name == "call_macro" and is_own(frame.f_code.co_filename):
        macro = frame.f_locals["function"]
        complaint, hint = complaint_and_hint(error, keywords_of(macro))
        text = f"the macro {macro.__name__}() {complaint[match.end(1) + 2 :].strip()}"
        return WrongTypeError(text, expected=f"{macro.__name__}{signature_text(macro)}", hint=hint)
    import tilecore.language as language

    parts = [part for part in match[1].split(".") if part not in ("<locals>", "__init__", "__call__")]
    name = parts[-1] if parts else ""
    if name not in language._NAMES:
        return None
    function = getattr(language, name)
    complaint, hint = complaint_and_hint(error, keywords_of(function))
    return WrongTypeError(
        f"T.{name}() {plain(complaint[match.end(1) + 2 :]).strip()}",
        expected=f"T.{name}{signature_text(function)}",
        hint=_keyword_elsewhere(complaint) or hint,
    )


def signature_text(function: Any) -> str:
    """The parameters of a public function, without their types."""
    try:
        return str(without_types(function))
    except (TypeError, ValueError):
        return "(...)"


def _keyword_elsewhere(text: str) -> str | None:
    """What to write instead of a keyword that the function does not have, but other libraries' do."""
    for keyword, instead in _KEYWORDS.items():
        if f"argument '{keyword}'" in text:
            return instead
    return None


_KEYWORDS = {
    "num_warps": "threads=32 * num_warps: T.Kernel takes the threads of a block",
    "num_stages": "T.Pipelined(n, num_stages=...) takes the stages of a loop",
    "mask": "reads outside of a tensor give 0 and writes there are dropped, without a mask",
    "axis": "dim= says which axis",
    "keepdim": "an `out` of extent 1 along the axis keeps it",
    "keepdims": "an `out` of extent 1 along the axis keeps it",
    "out_dtype": "the element type is that of the tile C",
    "allow_tf32": 'annotations={"allow_tf32": True}',
}
