"""The errors for emitted source that a compiler rejects, with the emitted line and the user's line."""

from __future__ import annotations

import re

from tilecore.codegen import places
from tilecore.errors import ToolchainError

_FIRST = re.compile(r"kernel\.cu\((\d+)\): (?:catastrophic )?error:? ?(?:#\S+ )?(.*)")
_ELSEWHERE = re.compile(r"(?:^|\n)[^\n]*(?:error|fatal)[^\n]*", re.IGNORECASE)


def refused(name: str, tool: str, source: str, output: str, options: list[str]) -> ToolchainError:
    """The error for source that the compiler ``tool`` did not compile. output: what the compiler printed."""
    lines = source.splitlines()
    match = _FIRST.search(output)
    if match is not None:
        return ToolchainError(
            f"{tool} cannot compile the code of {name}: {match[2]}",
            found=places.at(lines, int(match[1])),
            hint="TILECORE_DUMP=dir keeps the source; if the kernel is correct, please report this error",
        )
    failure = _ELSEWHERE.search(output)
    words = (failure[0] if failure else output).strip()[:400]
    return ToolchainError(f"{tool} failed on {name}: {words}", found="options " + " ".join(options))
