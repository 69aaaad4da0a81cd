"""Reads the instructions of kernels from assembly: clang's ``-S`` output, or the disassembly of a code object.

Both forms give the same list of instructions, in which a branch names the index of the instruction that it goes to.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace

from tilecore.errors import ToolchainError

_VERSIONS = range(30, 17, -1)  # of llvm-objdump, the newest first
_FUNCTION = re.compile(r"^(\w[\w$.]*):")
_TYPE = re.compile(r"^\s*\.type\s+([\w$.]+),@function")
_LABEL = re.compile(r"^(\.LBB\w+):")
_POST_GETPC = re.compile(r"(\.LBB\w+)-\.Lpost_getpc")
_INSTRUCTION = re.compile(r"^\s+([a-z]\w*)\s*(.*)$")
_SYMBOL = re.compile(r"^[0-9a-f]+ <([^>]+)>:")
_DISASSEMBLED = re.compile(r"^\s+([a-z]\w*)\s*(.*?)\s*// ([0-9A-F]+):.*?(?:<([\w$.]+)\+0x([0-9a-f]+)>)?\s*$")


@dataclass(frozen=True)
class Instruction:
    """name: the mnemonic, without the suffix of its encoding. target: the index that a branch goes to, or None."""

    name: str
    operands: str = ""
    target: int | None = None


def kernels_of_assembly(text: str) -> dict[str, list[Instruction]]:
    """The instructions of each function of clang's ``-S`` output, by its name."""
    names = {match[1] for match in map(_TYPE.match, text.splitlines()) if match}
    functions: dict[str, list[Instruction]] = {}
    body: list[tuple[Instruction, str]] | None = None
    labels: dict[str, int] = {}
    name, far = "", ""
    for line in text.splitlines():
        function = _FUNCTION.match(line)
        if function and function[1] in names:
            name, body, labels, far = function[1], [], {}, ""
        elif body is None:
            continue
        elif line.startswith(".Lfunc_end"):
            functions[name] = [_resolved(instruction, labels.get(label)) for instruction, label in body]
            body = None
        elif label := _LABEL.match(line):
            labels[label[1]] = len(body)
        elif match := _INSTRUCTION.match(line.partition(";")[0]):
            instruction = Instruction(_plain(match[1]), match[2].strip())
            far_label = _POST_GETPC.search(instruction.operands)
            far = far_label[1] if far_label else far
            body.append((instruction, _label_of(instruction, far)))
    return functions


def kernels_of_disassembly(text: str) -> dict[str, list[Instruction]]:
    """The instructions of each symbol of llvm-objdump's ``-d`` output, by its name."""
    functions: dict[str, list[Instruction]] = {}
    for section in re.split(r"\n(?=[0-9a-f]+ <[^>]+>:)", text):
        lines = section.splitlines()
        symbol = _SYMBOL.match(lines[0]) if lines else None
        if symbol is None:
            continue
        matches = [match for match in map(_DISASSEMBLED.match, lines[1:]) if match]
        if not matches:
            continue
        first = int(matches[0][3], 16)
        index_of = {int(match[3], 16) - first: index for index, match in enumerate(matches)}
        instructions = []
        for match in matches:
            instruction = Instruction(_plain(match[1]), match[2])
            offset = int(match[5], 16) if match[5] and match[4] == symbol[1] and _is_branch(instruction) else None
            instructions.append(_resolved(instruction, None if offset is None else index_of.get(offset)))
        functions[symbol[1]] = _without_padding(instructions)
    return functions


def disassembled(binary: bytes, arch: str) -> dict[str, list[Instruction]]:
    """The instructions of each kernel of a code object.

    Raises ToolchainError without an llvm-objdump that knows ``arch``.
    """
    for tool in tools():
        with tempfile.NamedTemporaryFile(suffix=".co") as file:
            file.write(binary)
            file.flush()
            process = subprocess.run([tool, "-d", file.name], capture_output=True, text=True, errors="replace")
        if process.returncode == 0 and "unknown" not in process.stderr and "// " in process.stdout:
            return kernels_of_disassembly(process.stdout)
    raise ToolchainError(
        f"there is no llvm-objdump that disassembles {arch}",
        found=", ".join(tools()) or "no llvm-objdump",
        hint="install LLVM 19 or newer (Debian: apt-get install llvm-19); gfx950 needs 20 or newer",
    )


def tools() -> list[str]:
    """The disassemblers on PATH, the newest first."""
    names = [*(f"llvm-objdump-{version}" for version in _VERSIONS), "llvm-objdump"]
    return [path for path in map(shutil.which, names) if path]


def _plain(name: str) -> str:
    return re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp|vi|gfx\d+)$", "", name)


def _is_branch(instruction: Instruction) -> bool:
    return instruction.name.startswith(("s_branch", "s_cbranch"))


def _label_of(instruction: Instruction, far: str) -> str:
    """The label that an instruction of ``-S`` output goes to; ``far``: the label of the last long branch's address."""
    if instruction.name == "s_setpc_b64":
        return far
    return instruction.operands.split()[-1] if _is_branch(instruction) and instruction.operands else ""


def _resolved(instruction: Instruction, target: int | None) -> Instruction:
    return instruction if target is None else replace(instruction, target=target)


def _without_padding(instructions: list[Instruction]) -> list[Instruction]:
    """Without what the linker puts behind the last instruction: s_nop and s_code_end."""
    end = len(instructions)
    while end and instructions[end - 1].name in ("s_nop", "s_code_end"):
        end -= 1
    return instructions[:end]
