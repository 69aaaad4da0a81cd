"""Kernels in thread IR that are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda.instructions import ldmatrix, mma

from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IRModule,
    PrimFunc,
    Ramp,
    StringImm,
    Var,
    tirx,
)
from tilecore.ir.thread_ops import thread_statement

BX, BY, BZ = (Var(n, "int32") for n in ("bx", "by", "bz"))
TX, TY, TZ = (Var(n, "int32") for n in ("tx", "ty", "tz"))


def buffer(name: str, size: Any, dtype: str = "float32", scope: str = "global") -> Var:
    return tirx.decl_buffer((size,), dtype, name, scope=scope, layout=None)


def kernel(
    symbol: str, params: Sequence[Var], body: Any, grid: Sequence[Any], threads: int, **attributes: Any
) -> IRModule:
    func = PrimFunc(list(params), body)
    facts = {
        "global_symbol": symbol,
        "tile.grid": [*grid, *[IntImm("int32", 1)] * (3 - len(grid))],
        "tile.block_vars": [BX, BY, BZ],
        "tile.threads": [IntImm("int32", threads), IntImm("int32", 1), IntImm("int32", 1)],
        "tile.thread_vars": [TX, TY, TZ],
        **{name.replace("_", ".", 1): value for name, value in attributes.items()},
    }
    for key, value in facts.items():
        func = func.with_attr(key, value)
    return IRModule({symbol: func})


def call(name: str, *args: Any) -> Any:
    return thread_statement(f"simt.{name}", args)


def vector_add(threads: int = 256) -> IRModule:
    """C[i] = A[i] + B[i], 4 elements a thread; slots: A, B, C, n."""
    n = Var("n", "int32")
    a, b, c = (buffer(name, n) for name in "ABC")
    ra, rb = buffer("a", 4, scope="local"), buffer("b", 4, scope="local")
    first = (BX * threads + TX) * 4
    lanes = Ramp(first, 1, 4)
    i = Var("i", "int32")
    body = IfThenElse(
        first + 3 < n,
        seq(
            [
                AllocBuffer(ra),
                AllocBuffer(rb),
                BufferStore(ra, BufferLoad(a, [lanes]), [Ramp(0, 1, 4)]),
                BufferStore(rb, BufferLoad(b, [lanes]), [Ramp(0, 1, 4)]),
                For(i, 0, 4, ForKind.UNROLLED, store(ra, load(ra, [i]) + load(rb, [i]), [i])),
                BufferStore(c, BufferLoad(ra, [Ramp(0, 1, 4)]), [lanes]),
            ]
        ),
        None,
    )
    grid = [tirx.FloorDiv(n + (4 * threads - 1), 4 * threads)]
    return kernel("add_kernel", [a, b, c, n], body, grid, threads, simt_access={"A": "r", "B": "r", "C": "w"})


def block_sum(size: int = 1024, threads: int = 128) -> IRModule:
    """S[block] = sum of a block's row of A, by shuffles and shared memory."""
    a, s = buffer("A", 64 * size), buffer("S", 64)
    total, parts = buffer("total", 1, scope="local"), buffer("parts", threads // 32, scope="shared")
    i, step, w = Var("i", "int32"), Var("step", "int32"), Var("w", "int32")
    shuffled = Call(
        "simt.shuffle", [load(total, [0]), tirx.RShift(const(16, "int32"), step), StringImm("xor"), const(32, "int32")],
        ret_ty="float32",
    )  # fmt: skip
    body = seq(
        [
            AllocBuffer(total),
            AllocBuffer(parts),
            store(total, const(0.0, "float32"), [0]),
            For(i, 0, size // threads, ForKind.SERIAL,
                store(total, load(total, [0]) + load(a, [BX * size + i * threads + TX]), [0])),
            For(step, 0, 5, ForKind.UNROLLED, store(total, load(total, [0]) + shuffled, [0])),
            IfThenElse(tirx.EQ(tirx.FloorMod(TX, 32), 0),
                       store(parts, load(total, [0]), [tirx.FloorDiv(TX, 32)]), None),
            call("barrier"),
            IfThenElse(tirx.EQ(TX, 0), seq([
                For(w, 1, threads // 32 - 1, ForKind.UNROLLED, store(total, load(total, [0]) + load(parts, [w]), [0])),
                store(s, load(total, [0]), [BX]),
            ]), None),
        ]
    )  # fmt: skip
    return kernel(
        "sum_kernel", [a, s], body, [64], threads, simt_access={"A": "r", "S": "w"}, simt_shared_bytes=threads // 8,
        simt_shared={"parts": 0},
    )  # fmt: skip


def pipelined_copy(tiles: int = 8, threads: int = 64) -> IRModule:
    """B = 2 * A, tile by tile through shared memory; the next tile is loaded while one is used."""
    size = threads * 4
    a, b = buffer("A", tiles * size), buffer("B", tiles * size)
    s = buffer("tile", 2 * size, scope="shared")
    i = Var("i", "int32")

    def start(number: Any, valid: Any) -> list[Any]:
        slot = tirx.FloorMod(number, 2) * size + TX * 4
        source = tirx.Min(number, const(tiles - 1, "int32")) * size + TX * 4
        return [
            call("copy_async", load(s, [slot]), load(a, [source]), const(16, "int32"), valid),
            call("commit_async"),
        ]

    used = tirx.FloorMod(i, 2) * size
    body = seq(
        [
            AllocBuffer(s),
            *start(const(0, "int32"), const(True, "bool")),
            For(i, 0, tiles, ForKind.SERIAL, seq([
                *start(i + 1, i + 1 < tiles),
                call("wait_async", const(1, "int32")),
                call("barrier"),
                *[store(b, load(s, [used + j * threads + TX]) * 2, [i * size + j * threads + TX]) for j in range(4)],
                call("barrier"),
            ])),
        ]
    )  # fmt: skip
    return kernel(
        "copy_kernel", [a, b], body, [1], threads, simt_access={"A": "r", "B": "w"}, simt_shared_bytes=8 * size,
        simt_shared={"tile": 0},
    )  # fmt: skip


def mma_tile(k: int = 64) -> IRModule:
    """C (16 x 8, float32) = A (16 x k) * B (k x 8), both float16, by one warp."""
    a, b, c = buffer("A", 16 * k, "float16"), buffer("B", k * 8, "float16"), buffer("C", 128)
    sa, sb = buffer("A_shared", 16 * k, "float16", "shared"), buffer("B_shared", k * 8, "float16", "shared")
    fa, fb = buffer("a", 8, "float16", "local"), buffer("b", 4, "float16", "local")
    fc = buffer("c", 4, scope="local")
    i, kk, r = Var("i", "int32"), Var("kk", "int32"), Var("r", "int32")
    eight = lambda at: Ramp(at, 1, 8)  # noqa: E731
    row = tirx.FloorDiv(TX, 4)
    col = tirx.FloorMod(TX, 4) * 2
    body = seq(
        [
            *[AllocBuffer(x) for x in (sa, sb, fa, fb, fc)],
            For(i, 0, 16 * k // 256, ForKind.UNROLLED,
                BufferStore(sa, BufferLoad(a, [eight((i * 32 + TX) * 8)]), [eight((i * 32 + TX) * 8)])),
            For(i, 0, 8 * k // 256, ForKind.UNROLLED,
                BufferStore(sb, BufferLoad(b, [eight((i * 32 + TX) * 8)]), [eight((i * 32 + TX) * 8)])),
            For(r, 0, 4, ForKind.UNROLLED, store(fc, const(0.0, "float32"), [r])),
            call("barrier"),
            For(kk, 0, k // 16, ForKind.UNROLLED, seq([
                ldmatrix(load(fa, [0]),
                         load(sa, [tirx.FloorMod(TX, 16) * k + kk * 16 + tirx.FloorDiv(TX, 16) * 8]), 4),
                ldmatrix(load(fb, [0]), load(sb, [(kk * 16 + tirx.FloorMod(TX, 16)) * 8]), 2, trans=True),
                mma("m16n8k16_f16_f32", load(fc, [0]), load(fa, [0]), load(fb, [0])),
            ])),
            For(r, 0, 4, ForKind.UNROLLED,
                store(c, load(fc, [r]), [(row + tirx.FloorDiv(r, 2) * 8) * 8 + col + tirx.FloorMod(r, 2)])),
        ]
    )  # fmt: skip
    return kernel(
        "mma_kernel", [a, b, c], body, [1], 32, simt_access={"A": "r", "B": "r", "C": "w"}, simt_shared_bytes=48 * k,
        simt_shared={"A_shared": 0, "B_shared": 32 * k},
    )  # fmt: skip


def expressions(dtypes: Sequence[str]) -> IRModule:
    """One of each conversion and a sum for each type, for which the header must have overloads."""
    buffers = [buffer(f"X{i}", 64, dtype) for i, dtype in enumerate(dtypes)]
    lines = []
    for x, kind in zip(buffers, dtypes, strict=True):
        for y in buffers:
            lines.append(store(x, Cast(kind, load(y, [TX])), [TX]))
        if kind != "bool":
            first, second = load(x, [TX]), load(x, [TX + 1])
            lines.append(store(x, tirx.Max(first + second, first * second) - tirx.Min(first, second), [TX]))
            lines.append(store(x, tirx.FloorDiv(first, const(3, kind)) + tirx.FloorMod(first, const(7, kind)), [TX]))
            lines.append(store(x, tirx.Select(first < second, first, second), [TX]))
    return kernel("all_kernel", buffers, seq(lines), [1], 64)
