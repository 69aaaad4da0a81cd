"""Prefetches the next rows of a tensor where a loop reads a row that lies in few pages, on Intel's processors.

Their prefetcher follows an address within a page of 4 KiB, and begins anew behind it: a kernel that takes one
such row after the other, and computes with each in between, waits for the first lines of every row. On Zen 4 a softmax
lost a quarter of its time by such prefetches (docs/notes/cpu.md;
Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching", DCU and L2 streamer).
"""

from __future__ import annotations

from typing import Any

from tilecore.backends.cpu.target import is_intels
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.nodes import For, PrimFunc, Ramp, TensorLoad, Var, is_buffer_var, structural_map
from tilecore.ir.visit import collect, variables
from tilecore.lowering.loops.prefetch import LINE, prefetch

PAGE = 4096  # bytes
LONGEST_ROW = 2 * PAGE  # rows over more pages gain nothing, and what is fetched ahead would leave the first-level cache
LEAST_OF_ROW = 0.75  # that the loop reads of a row


def prefetch_rows(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not is_intels(env.target):
        return func
    tensors = [param for param in func.params if is_buffer_var(param)]
    fetched: set[Var] = set()

    def change(node: For) -> Any:
        if collect(node.body, For):
            return node
        ahead = []
        for tensor in tensors:
            lines = [] if tensor in fetched else _lines_of_next_row(node, tensor)
            if lines:
                ahead += lines
                fetched.add(tensor)  # what another loop reads of the row again is in the cache
        return with_body(node, seq([*ahead, *statements_of(node.body)])) if ahead else node

    body = structural_map(func.body, (For, change))
    if fetched:
        env.note("row prefetches", {"tensors": sorted(str(tensor.name) for tensor in fetched)})
    return func.with_body(body)


def _lines_of_next_row(node: For, tensor: Var) -> list[Any]:
    """Prefetches of the lines of a later row that lie where this iteration reads; none where it reads no such row."""
    size = DType(dtype_of(tensor)).bytes
    bases = [
        load.indices[0].base
        for load in collect(node.body, TensorLoad)
        if load.source.same_as(tensor) and isinstance(load.indices[0], Ramp) and constant(load.indices[0].stride) == 1
    ]
    distance = _distance(bases[0], node, size) if bases else None
    if distance is None:
        return []
    lines: dict[int, Any] = {}
    for base in bases:
        offset = constant(Analyzer().simplify(base - bases[0]))
        if offset is not None:
            lines.setdefault(offset * size // LINE, base)
    return [prefetch(tensor, [base + const(distance, dtype_of(base))], 1) for base in lines.values()]


def _distance(base: Any, node: For, size: int) -> int | None:
    """Elements to the row to fetch, at least a page ahead; None where the loop does not read most of a short row of a
    tensor whose rows follow one another."""
    step, count = coefficient(base, node.loop_var), constant(node.extent)
    if not isinstance(step, int) or step <= 0 or count is None:
        return None
    width = step * count
    for var in variables(base) - {node.loop_var}:
        row = coefficient(base, var)
        if isinstance(row, int) and width <= row <= width / LEAST_OF_ROW and row * size <= LONGEST_ROW:
            return int(row) * -(-PAGE // (int(row) * size))
    return None


PREFETCH_ROWS = Pass("prefetch_rows", prefetch_rows)
