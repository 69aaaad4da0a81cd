"""Kernels: their heads, buffers and threadgroup memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tile_metal.families import MAX_BUFFERS, MAX_THREADS, SHARED_BYTES
from tile_metal.rules.text import Code, Problem

# bytes of the types that threadgroup memory is declared of
_SIZES = {
    "bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bfloat": 2, "int": 4, "uint": 4, "float": 4,
    "long": 8, "ulong": 8, "metal::atomic_uint": 4, "metal::atomic_int": 4,
}  # fmt: skip
LEAST_BOUND = 64  # at one simdgroup Apple's compiler drops barriers (MoltenVK issue 2711)
_HEAD = re.compile(r"\[\[kernel, max_total_threads_per_threadgroup\((\d+)\)\]\] void \w+\((.*)\)\s*", re.DOTALL)
_ARRAY = re.compile(r"^( *)(?:alignas\((\d+)\) )?threadgroup ([\w:]+) (\w+)(?:\[([^\]]*)\])?;", re.MULTILINE)


def heads(code: Code, msl: int) -> Iterator[Problem]:
    """Each kernel says how many threads its threadgroups have at most."""
    for line, head, _ in code.kernels():
        match = _HEAD.fullmatch(head)
        if match is None:
            yield Problem(line, "a kernel without a bound of threads")
        elif not LEAST_BOUND <= int(match[1]) <= MAX_THREADS:
            yield Problem(line, f"a bound of {match[1]} threads, not {LEAST_BOUND} to {MAX_THREADS}")


def buffers(code: Code, msl: int) -> Iterator[Problem]:
    """Each pointer and reference of a kernel has a buffer; they are numbered from 0, without gaps."""
    for line, head, _ in code.kernels():
        slots = [int(slot) for slot in re.findall(r"\[\[buffer\((\d+)\)\]\]", head)]
        if slots != list(range(len(slots))):
            yield Problem(line, f"buffers {slots}, which are not numbered from 0 without gaps")
        if len(slots) > MAX_BUFFERS:
            yield Problem(line, f"{len(slots)} buffers, of at most {MAX_BUFFERS}")
        parameters = head.partition("void ")[2].partition("(")[2].rstrip().removesuffix(")")
        for parameter in re.split(r",(?![^(\[]*[)\]])", parameters):
            if re.search(r"[*&]", parameter) and "[[buffer(" not in parameter:
                yield Problem(line, f"a parameter without a buffer: {parameter.strip()}")
            if "[[" not in parameter and parameter.strip(" )\n"):
                yield Problem(line, f"a parameter without an attribute: {parameter.strip()}")


def threadgroup_memory(code: Code, msl: int) -> Iterator[Problem]:
    """Threadgroup memory is declared in kernels, not in their blocks, and has at most 32 KiB of a threadgroup."""
    for match in _ARRAY.finditer(code.text[: code.start]):
        yield Problem(code.line(match.start()), "threadgroup memory outside of a kernel")
    for line, head, body in code.kernels():
        total = 0
        for match in _ARRAY.finditer(body):
            at = line + head.count("\n") + body.count("\n", 0, match.start())
            if len(match[1]) != 2:
                yield Problem(at, "threadgroup memory in a block: a kernel declares it at its beginning")
            if match[3] not in _SIZES or (match[5] is not None and not match[5].isdecimal()):
                yield Problem(at, "threadgroup memory whose size is not known")
                continue
            total = -(-total // int(match[2] or 1)) * int(match[2] or 1) + _SIZES[match[3]] * int(match[5] or 1)
        if total > SHARED_BYTES:
            yield Problem(line, f"{total} bytes of threadgroup memory, of at most {SHARED_BYTES}")
