"""The emitted Metal source as C++ of the host: the few words of MSL for which macros of the header cannot do it.

Each line stays where it is, so that errors of the simulated device name lines of the emitted source.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"^\[\[kernel[^\]]*\]\] void (\w+)\((.*)\) \{", re.MULTILINE)
_POSITION = re.compile(r",? ?uint3? \w+ \[\[\w+\]\]")
_BUFFER = re.compile(r" \[\[buffer\(\d+\)\]\]")
_MESSAGES = re.compile(r"(?:, )?device uint\* tc_messages \[\[buffer\(\d+\)\]\]")
_SCALAR = re.compile(r"\bconstant (\w+)& (\w+)")
_ARENA = re.compile(r"alignas\(16\) threadgroup uchar (\w+)\[\d+\];")
_VOTES = re.compile(r"threadgroup metal::atomic_uint (\w+);")
_LONG = re.compile(r"\b(0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)[lL]\b")
# a function of the user's own may have `unsigned char`, and constants in hexadecimal
_TYPES = re.compile(r"\b((?<!signed )char|long)\b")
_HOST_TYPES = {"char": "signed char", "long": "long long"}
_TEXT = re.compile(r'("(?:[^"\\\n]|\\.)*"|//[^\n]*)')


def host_source(source: str) -> str:
    """``source`` for a C++ compiler, with the header's simulated form."""
    return "".join(part if index % 2 else _translated(part) for index, part in enumerate(_TEXT.split(source)))


def _translated(code: str) -> str:
    """Code without strings and comments. Types and constants of 64 bits get the names that the headers know."""
    code = _HEAD.sub(_head, code)
    code = _ARENA.sub(r"TC_SHARED(\1);", code)
    code = _VOTES.sub(r"const int \1 = 0;", code)
    code = _TYPES.sub(lambda match: _HOST_TYPES[match[0]], code)
    return _LONG.sub(r"\1ll", code)


def _head(match: re.Match[str]) -> str:
    parameters = _SCALAR.sub(r"\1 \2", _BUFFER.sub("", _POSITION.sub("", _MESSAGES.sub("", match[2]))))
    return f'extern "C" void {match[1]}({parameters}) {{'
