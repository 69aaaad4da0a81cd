"""Words that the language does not have, or not in a version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tile_metal.rules.text import TYPE, Code, Problem

_FORBIDDEN = (
    "double", "goto", "asm", "__asm", "__asm__", "extern", "throw", "try", "catch", "virtual", "new", "delete",
    "dynamic_cast", "typeid", "thread_local", "register", "noexcept", "co_await", "concept", "requires",
    "__shared__", "__global__", "__device__", "__host__", "__syncthreads", "__syncwarp",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "atomicAdd", "printf", "std",
)  # fmt: skip
# a regular expression of what needs a version -> (the first version, what it is)
_VERSIONS = {
    r"\bbfloat\b|\bsimdgroup_bfloat8x8\b": (310, "bfloat"),
    r"\bcoherent\b": (320, "coherent device memory"),
    r"\b(?:atomic_thread_fence|thread_scope_\w+|tc_fence_\w+)\b": (320, "a fence"),
    r"\b(?:tc_acquire|tc_release|tc_acq_rel|tc_seq_cst)\b": (320, "a memory order with a fence"),
    r"\[[&=]?\]\s*\(": (320, "a lambda expression"),
    r"\b(?:matmul2d|tensor_ops|cooperative_tensor|tensor_handle|dextents)\b": (400, "a tensor"),
}
_SYSTEM = re.compile(r"<(?:metal_\w+|simd/simd\.h|MetalPerformancePrimitives/\w+\.h)>")
_FUNCTION = re.compile(rf"^(?:TC_FN|inline|static inline)\s+{TYPE}[\s*]+(\w+)\(", re.MULTILINE)


def forbidden(code: Code, msl: int) -> Iterator[Problem]:
    """C++ and CUDA that are no MSL."""
    for line, match in code.find(rf"\b(?:{'|'.join(_FORBIDDEN)})\b"):
        yield Problem(line, f"the language has no {match[0]!r}")
    for line, _ in code.find(r"\blong\s+long\b"):
        yield Problem(line, "there is no type 'long long': a long has 64 bits")


def includes(code: Code, msl: int) -> Iterator[Problem]:
    """A program that is compiled at run time sees the system's headers alone; the line of tile-metal's own header is
    replaced by its text."""
    for line, match in code.find(r"^\s*#\s*include\s*(.*?)\s*$"):
        if not match[1].startswith('"') and not _SYSTEM.fullmatch(match[1]):
            yield Problem(line, "a header that Metal has not")
    own = [line for line, _ in code.find(r'^\s*#\s*include\s*"')]
    yield from (Problem(line, "a header that is no system header") for line in own[1:])


def of_later_versions(code: Code, msl: int) -> Iterator[Problem]:
    """What the language has from a later version on."""
    for pattern, (version, name) in _VERSIONS.items():
        if msl < version:
            for line, _ in code.find(pattern):
                yield Problem(line, f"{name} needs MSL {version // 100}.{version // 10 % 10}")


def recursion(code: Code, msl: int) -> Iterator[Problem]:
    """A function that calls itself: the language has it from 2.4 on, but no stack of a size that is known."""
    names = [match[1] for match in _FUNCTION.finditer(code.text)]
    for match in _FUNCTION.finditer(code.text):
        if names.count(match[1]) > 1:  # it may call another function of its name
            continue
        body = code.text[match.end() : _end_of_block(code.text, match.end())]
        if re.search(rf"\b{match[1]}\s*\(", body):
            yield Problem(code.line(match.start()), f"{match[1]} calls itself")


def _end_of_block(text: str, start: int) -> int:
    """The end of the first block in braces from ``start`` on."""
    depth = 0
    for match in re.compile(r"[{};]").finditer(text, start):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        if depth == 0:
            return match.end()
    return len(text)
