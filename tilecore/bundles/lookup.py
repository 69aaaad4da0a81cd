"""Finds kernels of a bundle by their label, or by their name and the arguments of their call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilecore.bundles.argument_texts import has_text
from tilecore.bundles.format import Argument, KernelRecord
from tilecore.errors import ArgumentError

_MOST_SHOWN = 8


class UnknownLabelError(ArgumentError, KeyError):
    """A bundle has no kernel of a label, or several that it may mean; a KeyError, as mappings raise it."""


def some(texts: Sequence[str]) -> str:
    """The first of many texts."""
    more = f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return ", ".join(texts[:_MOST_SHOWN]) + more


_STRING_OR_SPACE = re.compile(
    r"""(?P<prefix>(?<!\w)(?:[bB][rR]?|[rR][bB]?|[uU]))?(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\s+""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES = frozenset("\n\\'\"abfnrtvx01234567")


def plain_label(label: str) -> str:
    """A label without its white space, strings as Python prints them: equal for labels that differ in nothing else.
    White space inside of strings and between two words stays."""

    def replacement(match: re.Match[str]) -> str:
        if match["quoted"] is not None:
            return _string_as_printed(match["prefix"] or "", match["quoted"])
        before, after = label[match.start() - 1 : match.start()], label[match.end() : match.end() + 1]
        return " " if _is_of_word(before) and _is_of_word(after) else ""

    return _STRING_OR_SPACE.sub(replacement, label)


def _string_as_printed(prefix: str, quoted: str) -> str:
    """A string or bytes, as written in source, as Python prints the value; text that is no string stays as it is."""
    known = _KNOWN_ESCAPES if "b" in prefix.lower() else _KNOWN_ESCAPES | set("NuU")
    if "r" not in prefix.lower():  # Python warns of the others, and reads them as they stand
        quoted = _ESCAPE.sub(lambda escape: escape[0] if escape[1] in known else f"\\{escape[0]}", quoted)
    try:
        return repr(ast.literal_eval(prefix + quoted))
    except (SyntaxError, ValueError):  # a line break in it, or an escape that is cut short
        return prefix + quoted


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def unknown_name(path: str, name: str, names: Sequence[str], labels: Iterable[str]) -> ArgumentError:
    """The error of the name of a function that has no kernels in a bundle, with the names that are most like it."""
    from tilecore.nearest import did_you_mean  # only a mistake needs it

    hint = did_you_mean(name, names, "{}")
    if plain_label(name) in map(plain_label, labels):
        hint = f"{name!r} is a label: bundle[{name!r}]"
    return ArgumentError(
        f"{path} has no kernels of a function {name}", expected=some(names) or "a bundle with kernels", hint=hint
    )


def unknown_label(path: str, label: object, labels: Iterable[str], names: Sequence[str] = ()) -> UnknownLabelError:
    """The error of a label that is not among those of a bundle, with the ones that are most like it. names: of the
    functions that have kernels in the bundle."""
    import difflib  # only a mistake needs it

    known = list(labels)
    by_plain_label = {plain_label(one): one for one in known}
    close = difflib.get_close_matches(plain_label(str(label)), by_plain_label, 3)
    all_labels = f"list(bundle) has all labels, and so has: tilecore bundle {path}"
    if label in names:
        all_labels = f"bundle.find({label!r}, ...) takes the name of a function and its arguments; {all_labels}"
    similar = " or ".join(repr(by_plain_label[one]) for one in close)
    return UnknownLabelError(
        f"{path} has no kernel {label!r}",
        expected=some(known) or "a bundle with kernels",
        hint=f"did you mean {similar}? {all_labels}" if close else all_labels,
    )


def matches(record: KernelRecord, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the kernel was made for these arguments; those that are left out have their defaults. Those of an eager
    function are its tensors, or its sizes by name."""
    return any(_are_those_of(form, args, kwargs) for form in record.forms or (record.arguments,))


def _are_those_of(form: Sequence[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    if len(args) > len(form):
        return False
    values = {argument.name: value for argument, value in zip(form, args, strict=False)}
    if values.keys() & kwargs.keys():
        return False
    values.update(kwargs)
    if values.keys() - {argument.name for argument in form}:
        return False
    return all(
        has_text(values[argument.name], argument.text) if argument.name in values else argument.default
        for argument in form
    )
