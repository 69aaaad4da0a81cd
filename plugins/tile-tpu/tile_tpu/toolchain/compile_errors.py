"""Errors of C compilers and linkers in emitted source, with the emitted line and the user's line."""

from __future__ import annotations

import re

from tilecore.codegen.places import at
from tilecore.errors import ToolchainError

SOURCE = "kernel.c"
_FIRST = re.compile(rf"{re.escape(SOURCE)}:(\d+)(?::\d+)?: (?:fatal )?error: (.*)")
_UNDEFINED = re.compile(r"undefined reference to [`'‘](\w+)")
_ELSEWHERE = re.compile(r"(?:^|\n)[^\n]*(?:error|fatal|cannot)[^\n]*", re.IGNORECASE)


def refused(name: str, tool: str, source: str, output: str, options: list[str]) -> ToolchainError:
    """The error for source that ``tool`` did not compile or link."""
    lines = source.splitlines()
    report = "set TILECORE_DUMP=dir to keep the source; if the kernel is right, please report it"
    match = _FIRST.search(output)
    if match is not None:
        return ToolchainError(
            f"{tool} cannot compile the code of {name}: {match[2]}", found=at(lines, int(match[1])), hint=report
        )
    missing = sorted(set(_UNDEFINED.findall(output)))
    if missing:
        used = next((i for i, text in enumerate(lines, 1) if re.search(rf"\b{missing[0]}\b", text)), 0)
        return ToolchainError(
            f"the code of {name} calls functions that the chip's library lacks: {', '.join(missing)}",
            found=at(lines, used) if used else None,
            hint="use another version of the vendor's SDK; `tilecore doctor` shows the one in use",
        )
    other = _ELSEWHERE.search(output)
    reason = (other[0] if other else output).strip()[:400]
    return ToolchainError(f"{tool} failed on {name}: {reason}", found="options " + " ".join(options))
