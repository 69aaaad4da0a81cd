"""Checks that the functions of an SDK have the signatures that emitted code expects: those of tile-tpu's simulator.

Versions of the SDK have changed parameters of a function (``tpu_bdc_clamp`` swapped two between PPL 1.6 and 1.7). Code
for another version would compile, and compute something else. So a file includes the vendor's header and then the
declarations of the simulator. Where types differ it does not compile, and the compiler's errors name the functions.
Parameters of one type that were swapped are found by their names.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tile_tpu.chips import Chip
from tile_tpu.toolchain.compilers import Compiler, host_compiler
from tilecore.errors import ToolchainError

DECLARATIONS = Path(__file__).parent.parent / "simulate" / "include"
PARTS = ("tpu_bdc.h", "tpu_dma.h")  # the declarations of commands, with the vendor's types
_CONFLICT = re.compile(r"error: conflicting types for '(\w+)'")
_OTHER = re.compile(r"(\S+): (?:fatal )?error: (.*)")
_NAME = re.compile(r"\b(tpu_\w+)\s*\(")
_PROTOTYPE = re.compile(r"\b(tpu_\w+)\s*\(([^(){};]*)\)\s*;")
_PARAMETER = re.compile(r"(\w+)\s*(?:\[\w*\]\s*)?$")


@dataclass(frozen=True)
class Drift:
    """The differences of an SDK. changed: functions with other parameters. missing: functions that it lacks. error:
    another error that its header does not compile for."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""

    def description(self) -> str:
        """The differences for messages; "" where nothing differs."""
        words = [f"functions with other parameters: {', '.join(self.changed)}"] if self.changed else []
        return "; ".join([*words, *([f"its header does not compile: {self.error}"] if self.error else [])])


def drift(include: Path, chip: Chip, declarations: Path = DECLARATIONS) -> Drift:
    """The differences of the SDK whose headers are in ``include``; cached by the content of the headers.

    Raises ToolchainError without a C compiler.
    """
    digest = hashlib.sha256()
    for path in [*sorted(include.glob("*.h")), *(declarations / part for part in PARTS)]:
        digest.update(path.read_bytes())
    return _drift(include, chip, declarations, digest.hexdigest(), host_compiler())


@functools.lru_cache(maxsize=16)
def _drift(include: Path, chip: Chip, declarations: Path, digest: str, compiler: Compiler) -> Drift:
    ours = "".join(f'#include "{declarations / part}"\n' for part in PARTS)
    both = f'#include "tpu_kernel.h"\n#include <stddef.h>\n{ours}'
    options = ["-std=gnu11", "-w", "-DUSING_CMODEL", *(f"-D{name}" for name in chip.defines), f"-I{include}"]
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        Path(folder, "both.c").write_text(both)
        succeeded, output = compiler.run([*options, "-fsyntax-only", "-fmax-errors=0", "both.c"], folder)
        changed = set(_CONFLICT.findall(output))
        error = "" if succeeded or changed else _first(output)
        sdk_functions = _declared(compiler, '#include "tpu_kernel.h"\n', options, folder)
        our_functions = _declared(compiler, ours, ["-std=gnu11", "-w"], folder)
    changed |= {name for name, names in our_functions.items() if _reordered(names, sdk_functions.get(name, names))}
    missing = sorted(set(our_functions) - set(sdk_functions)) if sdk_functions else []
    return Drift(tuple(sorted(changed)), tuple(missing), error)


def _declared(compiler: Compiler, text: str, options: list[str], folder: str) -> dict[str, list[str]]:
    """The functions that a text declares after preprocessing: {name: the names of its parameters}."""
    Path(folder, "names.c").write_text(text)
    done, _ = compiler.run([*options, "-E", "-P", "names.c", "-o", "names.i"], folder)
    declared = _PROTOTYPE.findall(Path(folder, "names.i").read_text()) if done else []
    return {name: [m[1] for p in listed.split(",") if (m := _PARAMETER.search(p.strip()))] for name, listed in declared}


def _reordered(ours: list[str], theirs: list[str]) -> bool:
    """Whether the names that both lists have are in another order."""
    shared = set(ours) & set(theirs)
    return [n for n in ours if n in shared] != [n for n in theirs if n in shared]


def _first(output: str) -> str:
    match = _OTHER.search(output)
    return f"{match[1]}: {match[2]}" if match else output.strip()[:200]


def require_same(include: Path, chip: Chip, used: str) -> None:
    """Raises ToolchainError where the source ``used`` calls a function that has other parameters in the SDK."""
    difference = drift(include, chip)
    called = set(_NAME.findall(used))
    changed = [name for name in difference.changed if name in called]
    if changed:
        raise ToolchainError(
            f"the kernel calls functions with other parameters in the SDK in {include}: {', '.join(changed)}",
            expected="the parameters of PPL 1.7",
            hint="use that SDK, or upgrade tile-tpu; `tilecore doctor` lists all that differ",
        )
