"""Finds kernels of a bundle by their label, or by their name and the arguments of their call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilecore.bundles.format import KernelRecord
from tilecore.errors import ArgumentError

_MOST_SHOWN = 8


class UnknownLabelError(ArgumentError, KeyError):
    """A bundle has no kernel of a label, or several that it may mean; a KeyError, as mappings raise it."""


def some(texts: Sequence[str]) -> str:
    """The first of many texts."""
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return ", ".join(texts[:_MOST_SHOWN]) + more


_STRING_OR_SPACE = re.compile(r"""(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\s+""")


def plain_label(label: str) -> str:
    """A label without its white space, strings with the quotes that Python prints: equal for labels that differ in
    nothing else. White space inside of strings and between two words stays."""

    def replacement(match: re.Match[str]) -> str:
        string = match["string"]
        if string is not None:
            return repr(string[1:-1])  # what is between the quotes, escapes and all: equal texts are equal strings
        before, after = label[match.start() - 1 : match.start()], label[match.end() : match.end() + 1]
        return " " if _is_of_word(before) and _is_of_word(after) else ""

    return _STRING_OR_SPACE.sub(replacement, label)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def unknown_label(path: str, label: object, labels: Iterable[str]) -> UnknownLabelError:
    """The error of a label that is not among those of a bundle, with the ones that are most like it."""
    import difflib  # only a mistake needs it

    known = list(labels)
    by_plain_label = {plain_label(one): one for one in known}
    close = difflib.get_close_matches(plain_label(str(label)), by_plain_label, 3)
    all_labels = f"list(bundle) has all labels, and so has: tilecore bundle {path}"
    similar = " or ".join(repr(by_plain_label[one]) for one in close)
    return UnknownLabelError(
        f"{path} has no kernel {label!r}",
        expected=some(known) or "a bundle with kernels",
        hint=f"did you mean {similar}? {all_labels}" if close else all_labels,
    )


def argument_text(value: Any) -> str:
    """The text of an argument, the same wherever it is computed: tensors and their types as ``float32[64, 32]``,
    element types by name, other values as Python writes them."""
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and kind is not None:
        strides = getattr(value, "strides", None) if type(value).__name__ == "TensorType" else None
        text = f"{_last(kind)}[{', '.join(str(size) for size in shape)}]"
        return text if strides is None else f"{text} strides {list(strides)}"
    if any(kind.__name__ == "dtype" for kind in type(value).__mro__):  # of tilecore, torch or numpy
        return repr(_last(value))
    if isinstance(value, (tuple, list)):
        texts = ", ".join(map(argument_text, value))
        return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' if len(value) == 1 else ''})"
    return " ".join(repr(value).split())


def _last(kind: Any) -> str:
    """The name of an element type of tilecore, torch or numpy."""
    return str(kind).rpartition(".")[2]


def matches(record: KernelRecord, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the kernel was made for these arguments; those that are left out have their defaults."""
    if len(args) > len(record.arguments):
        return False
    wanted = {argument.name: argument_text(value) for argument, value in zip(record.arguments, args, strict=False)}
    if wanted.keys() & kwargs.keys():
        return False
    wanted.update((name, argument_text(value)) for name, value in kwargs.items())
    if wanted.keys() - {argument.name for argument in record.arguments}:
        return False
    return all(
        argument.text == wanted[argument.name] if argument.name in wanted else argument.default
        for argument in record.arguments
    )
