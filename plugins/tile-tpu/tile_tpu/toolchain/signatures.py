"""Whether the functions of an SDK are those that we call, held to the declarations of our simulator.

SDKs have changed parameters under one name (``tpu_bdc_clamp`` swapped two between PPL 1.6 and 1.7): such code would
compile and compute something else. A file that includes the vendor's header and then our declarations does not compile
where types differ, and the compiler names the functions; parameters of one type that have changed places are told by
their names.
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
PARTS = ("tpu_bdc.h", "tpu_dma.h")  # declarations of commands, in the vendor's types
_CONFLICT = re.compile(r"error: conflicting types for '(\w+)'")
_OTHER = re.compile(r"(\S+): (?:fatal )?error: (.*)")
_NAME = re.compile(r"\b(tpu_\w+)\s*\(")
_PROTOTYPE = re.compile(r"\b(tpu_\w+)\s*\(([^(){};]*)\)\s*;")
_PARAMETER = re.compile(r"(\w+)\s*(?:\[\w*\]\s*)?$")


@dataclass(frozen=True)
class Drift:
    """Functions whose types differ in the SDK, those that it has not, and what else kept its header from compiling."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""

    def words(self) -> str:
        """For people; "" where nothing differs."""
        words = [f"other parameters than ours: {', '.join(self.changed)}"] if self.changed else []
        return "; ".join([*words, *([f"its header does not compile: {self.error}"] if self.error else [])])


def drift(include: Path, chip: Chip, declarations: Path = DECLARATIONS) -> Drift:
    """How the SDK whose headers are in ``include`` differs; remembered by the headers' content.

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
    """Functions that a text declares, and the names of their parameters, by the preprocessor's output."""
    Path(folder, "names.c").write_text(text)
    done, _ = compiler.run([*options, "-E", "-P", "names.c", "-o", "names.i"], folder)
    declared = _PROTOTYPE.findall(Path(folder, "names.i").read_text()) if done else []
    return {name: [m[1] for p in listed.split(",") if (m := _PARAMETER.search(p.strip()))] for name, listed in declared}


def _reordered(ours: list[str], theirs: list[str]) -> bool:
    """Whether the names that both have stand in another order."""
    shared = set(ours) & set(theirs)
    return [n for n in ours if n in shared] != [n for n in theirs if n in shared]


def _first(output: str) -> str:
    match = _OTHER.search(output)
    return f"{match[1]}: {match[2]}" if match else output.strip()[:200]


def require_same(include: Path, chip: Chip, used: str) -> None:
    """Raises ToolchainError when the source ``used`` calls a function whose parameters the SDK has changed."""
    difference = drift(include, chip)
    called = set(_NAME.findall(used))
    changed = [name for name in difference.changed if name in called]
    if changed:
        raise ToolchainError(
            f"the kernel calls functions with other parameters in the SDK in {include}: {', '.join(changed)}",
            expected="the parameters of PPL 1.7",
            hint="use that SDK, or upgrade tile-tpu; `tilecore doctor` lists all that differ",
        )
