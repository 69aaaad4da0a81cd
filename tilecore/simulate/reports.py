"""Makes errors of the runtime's reports, with the emitted line, the user's line, the tensor and the element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore.errors import Location
from tilecore.simulate import native
from tilecore.simulate.errors import MemoryAccess, SimulationError

if TYPE_CHECKING:
    from tilecore.simulate.arguments import Region
    from tilecore.simulate.library import KernelLibrary

_HINTS = {
    "out_of_bounds": "guard the index: it runs past the memory that the kernel was given or made",
    "read_only": "the kernel promised only to read this tensor: drop the store, or the promise",
    "misaligned": "a move of several elements starts at a multiple of its size; use smaller moves, or pad the rows",
    "race": "a barrier (or an atomic with release and acquire) must stand between the two",
    "uninitialised": "nothing has written this memory; is a fill, a copy or a barrier missing?",
    "swizzle_mismatch": "the swizzle of the copy into shared memory and that of the reads differ: give both one layout",
    "missing_fence": "fence the registers between the threads' own use of them and the next product on them",
    "missing_proxy_fence": "fence after the writes: where they were made (a barrier follows), or where it starts",
    "missing_wait": "wait for the asynchronous work (and let a barrier follow, where another thread started it)",
    "divergent_barrier": "every thread of the block must reach the same barrier",
    "mismatched_collective": "all lanes of the warp must reach the same operation",
    "ended_block": "let a barrier of the cluster stand at the end, after all that others do to a block",
    "uninitialised_barrier": "initialise it in one thread and put a barrier of the block after that",
    "shared_too_small": "ask for less shared memory, or for fewer stages",
    "deadlock": "is an arrival missing, or a phase's parity wrong?",
}
_BYTES = "bytes of shared memory"


def simulation_error(
    report: native.CReport, library: KernelLibrary, symbol: str, regions: Sequence[Region], shared_bytes: int
) -> SimulationError:
    kind = report.kind.decode()
    access, other = _memory_access(report.access, library), _memory_access(report.other, library)
    place, tensor, index, extent = _place(report, regions, shared_bytes)
    line = access.line if access else None
    user_line = library.user_line(line) if line else None
    message = f"{kind} in {symbol}: {_sentence(kind, report, access, place)}"
    return SimulationError(
        message + _excerpt(library, access, other),
        kind=kind,
        kernel=symbol,
        access=access,
        other=other,
        tensor=tensor,
        index=index,
        user_line=user_line,
        found="; ".join(filter(None, [_who(kind, access, other), user_line and f"the user's line is {user_line}"])),
        expected=extent,
        hint=_HINTS.get(kind),
        location=_location(user_line),
    )


def _memory_access(access: native.CAccess, library: KernelLibrary) -> MemoryAccess | None:
    if not access.known:
        return None
    thread = None if access.thread == 0xFFFFFFFF else int(access.thread)
    return MemoryAccess(access.what.decode(), thread, tuple(access.block), library.line_of(access.site))


def _place(
    report: native.CReport, regions: Sequence[Region], shared_bytes: int
) -> tuple[str, str | None, tuple[int, ...] | None, str | None]:
    """The memory in words, the tensor's name, the element's index, and how far the memory reaches."""
    if report.space == native.SHARED:
        text = f"byte {report.offset} of shared memory"
        return (
            text,
            "shared memory",
            (report.offset,),
            f"0 to {shared_bytes - 1}: the block has {shared_bytes} {_BYTES}",
        )
    if report.space < 0:
        return "", None, None, None
    tensor, offset = regions[report.space].at(report.offset)
    index = tensor.index_of(offset)
    subscript = ", ".join(map(str, index))
    if offset % tensor.item:
        subscript += f" + {offset % tensor.item} bytes"
    return f"{tensor.name}[{subscript}]", tensor.name, index, f"{tensor.name} has the shape {tuple(tensor.shape)}"


def _sentence(kind: str, report: native.CReport, access: MemoryAccess | None, place: str) -> str:
    runtime_message = report.message.decode(errors="replace")
    operation = (access.operation if access else "") or "access"
    sized_operation = f"{report.size}-byte {operation}"
    subject = f"an {operation}" if operation.startswith("a") else f"a {operation}"
    texts = {
        "out_of_bounds": f"a {sized_operation} of {place}, which is out of bounds",
        "uninitialised": f"a {sized_operation} of {place}, which nobody has written",
        "race": f"{subject} of {place} and an earlier {report.other.what.decode()} are not ordered",
        "swizzle_mismatch": f"the rows of a matrix at {place} were copied from different columns of a tensor",
        "missing_proxy_fence": f"{subject} of {place}, with no fence for asynchronous work since a thread wrote it",
        "missing_wait": f"{subject} of {place} while an {report.other.what.decode()} may still be going on",
    }
    if runtime_message:
        return f"{runtime_message} ({place})" if place else runtime_message
    return texts.get(kind, f"a {sized_operation} of {place}")


def _who(kind: str, access: MemoryAccess | None, other: MemoryAccess | None) -> str:
    texts = [str(access)] if access else []
    if other:
        texts.append(str(other))
    return " after ".join(texts)


def _excerpt(library: KernelLibrary, *accesses: MemoryAccess | None) -> str:
    """The emitted lines, each with carets under it."""
    numbers = list(dict.fromkeys(t.line for t in accesses if t and t.line))
    parts: list[str] = []
    width = max((len(str(n)) for n in numbers), default=0)
    for number in numbers:
        text = library.lines[number - 1]
        start = len(text) - len(text.lstrip())
        code = text.split("//")[0].rstrip()
        carets = " " * start + "^" * max(1, len(code) - start)
        parts += [f"  {number:>{width}} | {text}", f"  {'':>{width}} | {carets}"]
    return "\n" + "\n".join(parts) if parts else ""


def _location(user_line: str | None) -> Location | None:
    if user_line is None:
        return None
    file, _, line = user_line.rpartition(":")
    return Location(file, int(line))


def bank_conflicts(lines: Sequence[Any], library: KernelLibrary) -> list[BankConflict]:
    """Requests to shared memory by source line, the worst first."""
    totals: dict[int | None, list[int]] = {}
    for entry in lines:
        total = totals.setdefault(library.line_of(entry.site), [0, 0, 0, 0])
        total[0] += entry.requests
        total[1] += entry.passes
        total[2] += entry.least_passes
        total[3] = max(total[3], entry.worst)
    conflicts = [BankConflict(line, *total) for line, total in totals.items()]
    return sorted(conflicts, key=lambda c: (c.least_passes - c.passes, c.line or 0))


class BankConflict:
    """How a source line uses the banks of shared memory.

    requests: of whole warps. passes: that the banks need for them; least_passes: without conflicts. worst: passes of
    one request. ways: passes / least_passes.
    """

    def __init__(self, line: int | None, requests: int, passes: int, least_passes: int, worst: int) -> None:
        self.line = line
        self.requests = requests
        self.passes = passes
        self.least_passes = least_passes
        self.worst = worst

    @property
    def ways(self) -> float:
        return self.passes / self.least_passes if self.least_passes else 1.0

    def __repr__(self) -> str:
        return f"BankConflict(line={self.line}, requests={self.requests}, ways={self.ways:g}, worst={self.worst})"
