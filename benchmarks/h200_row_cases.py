"""The cases and variants of h200_row_variants.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Tensors = tuple[tuple[Any, ...], dict[str, Callable[[], Any]], Any]
BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}
REGISTERS, MOST_THREADS = 65536, 2048  # of a multiprocessor
SHARED_BYTES, RESERVED_BYTES = 227 << 10, 1 << 10  # of a multiprocessor, and of each block beside its own
MIB = 1 << 20
# what a thread holds: elements, and the registers that these and the rest of the code take (measured by compiling)
PARTS = {"own type": {16: 40, 32: 64, 64: 64}, "float32": {16: 32, 32: 51}}


@dataclass(frozen=True)
class Variant:
    """file: a module of examples/, or of benchmarks/ if it begins with "h200_". ahead: TL_BLOCK_PREFETCH; None: as by
    default."""

    name: str
    file: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    ahead: int | None = None


@dataclass(frozen=True)
class Case:
    """Rows by columns of a type; work: "softmax" or "rms_norm"."""

    work: str
    rows: int
    columns: int
    dtype: str

    @property
    def name(self) -> str:
        return f"{self.work} {self.dtype} {self.rows}x{self.columns}"

    @property
    def bytes(self) -> int:
        return 2 * self.rows * self.columns * BYTES[self.dtype]

    def variants(self) -> list[Variant]:
        return list(softmax_variants(self) if self.work == "softmax" else rms_norm_variants(self))

    def tensors(self) -> Tensors:
        """(inputs, calls of torch by name, what is right in float32)."""
        import torch
        import torch.nn.functional as F

        kind = getattr(torch, self.dtype)
        x = torch.randn(self.rows, self.columns, device="cuda").to(kind)
        y = torch.empty_like(x)
        copy = {"torch copy": lambda: y.copy_(x)}
        if self.work == "softmax":
            return (x,), {"torch": lambda: torch.softmax(x, 1), **copy}, torch.softmax(x.float(), 1)
        w = torch.randn(self.columns, device="cuda").to(kind)
        shape = (self.columns,)
        peers = {"torch": lambda: F.rms_norm(x, shape, w, 1e-6), **copy}
        return (x, w), peers, F.rms_norm(x.float(), shape, w.float(), 1e-6)


def resident(threads: int, registers: int) -> int:
    """The blocks of so many threads that a multiprocessor can run at once."""
    return max(1, min(REGISTERS // (threads * registers), MOST_THREADS // threads))


def over_clusters(case: Case) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name, arguments, what a thread holds) of clusters whose threads hold 16, 32 or 64 elements each."""
    for kept, registers_by_elements in PARTS.items():
        if kept == "float32" and case.dtype == "float32":
            continue
        for blocks in (2, 4, 8):
            for elements, registers in registers_by_elements.items():
                threads = case.columns // (blocks * elements)
                is_half = BYTES[case.dtype] == 2 or elements <= 32
                if threads not in (128, 256, 512, 1024) or not is_half:
                    continue
                count = resident(threads, registers)
                name = f"clusters of {blocks}, {threads} threads, {count} resident, {kept}"
                yield name, {"blocks": blocks, "threads": threads, "resident": count, "dtype": case.dtype}, kept


def ahead_of(name: str, variant: Callable[[str, int | None], Variant]) -> Iterator[Variant]:
    """A variant with the prefetch distance that the compiler chooses, and with others."""
    yield variant(name, None)
    for ahead in (0, 2 * MIB, 6 * MIB):
        yield variant(f"{name}, {ahead // MIB} MiB ahead", ahead)


def softmax_variants(case: Case) -> Iterator[Variant]:
    sizes, row_bytes = {"dtype": case.dtype}, case.columns * BYTES[case.dtype]
    yield from ahead_of(
        "as the example", lambda name, ahead: Variant(name, "softmax", "softmax", sizes | {"clusters": True}, ahead)
    )
    if row_bytes <= 65536:
        for threads in sorted({512, max(128, case.columns // 64)}):
            yield Variant(
                f"one block, {threads} threads", "softmax", "softmax_of_long_rows", sizes | {"threads": threads}
            )
    if case.columns <= 32768:
        yield Variant("one block, in pieces", "softmax", "softmax_in_pieces", sizes)
    else:
        yield Variant("one block, two passes", "softmax", "softmax_of_endless_rows", sizes)
    for name, arguments, kept in over_clusters(case):
        extra = {"kept": "float32"} if kept == "float32" else {}
        yield Variant(name, "softmax", "softmax_over_clusters", arguments | extra)
    for blocks in (2, 4, 8):
        for threads in (256, 512):
            part = row_bytes // blocks
            count = min(SHARED_BYTES // (part + RESERVED_BYTES + 256), resident(threads, 40))
            if 8192 <= part <= 65536 and case.columns // (blocks * threads) <= 64:
                name = f"clusters of {blocks}, {threads} threads, {count} resident, shared memory"
                arguments = {"blocks": blocks, "threads": threads, "resident": count, "dtype": case.dtype}
                yield Variant(name, "h200_row_kernels", "softmax_in_shared_memory", arguments)


def rms_norm_variants(case: Case) -> Iterator[Variant]:
    sizes = {"dtype": case.dtype}
    yield from ahead_of(
        "as the example", lambda name, ahead: Variant(name, "rms_norm", "rms_norm", sizes | {"clusters": True}, ahead)
    )
    if case.columns > 32768:
        yield Variant("one block, two passes", "rms_norm", "rms_norm_of_endless_rows", sizes)
    for name, arguments, kept in over_clusters(case):
        if kept != "float32":
            yield Variant(name, "rms_norm", "rms_norm_over_clusters", arguments)


CASES = [
    Case("softmax", 4096, 32768, "float16"),
    Case("softmax", 2048, 65536, "float16"),
    Case("softmax", 16384, 16384, "float16"),
    Case("softmax", 1024, 131072, "float16"),
    Case("rms_norm", 4096, 32768, "float16"),
    Case("rms_norm", 2048, 65536, "float16"),
    Case("rms_norm", 1024, 131072, "float16"),
    Case("softmax", 4096, 32768, "bfloat16"),
    Case("softmax", 2048, 65536, "bfloat16"),
    Case("softmax", 16384, 16384, "bfloat16"),
    Case("softmax", 4096, 32768, "float32"),
    Case("softmax", 2048, 65536, "float32"),
    Case("rms_norm", 2048, 65536, "bfloat16"),
]
