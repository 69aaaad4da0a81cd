"""The table of tile operations: one row states all facts about an operation. Importing it does not import TVM.

The other parts of an operation: its function in ``tilecore.language``, its meaning in ``tilecore/interpreter/tiles/``
and its implementations in ``tilecore/lowering/tile_ops/`` or ``tilecore/lowering/simt/tile_ops/``.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "tile."

# names of the calls of operations that passes look for
SYNC_THREADS = "tile.sync_threads"
ALLREDUCE = "tile.allreduce"
SHUFFLE = "tile.shuffle"
BALLOT = "tile.ballot"


@dataclass(frozen=True)
class TileOp:
    """The facts about a tile operation.

    operands: one word each, ``name:kind``. Kinds: ``region`` (a BufferRegion; the extents are those of the tile),
    ``expr`` (a scalar expression), ``int`` and ``str`` (immediates); a last ``name:any*`` takes the rest.
    reads, writes: names of the region operands that it reads and writes.

    module: the module of ``tilecore.language`` with the function ``T.<name>``; "" when there is no such function.
    spelling: the name in the language, if that is not ``name``; ``{kind}`` stands for the operand ``kind``.
    spellings: (kind, name in the language) of kinds that do not follow ``spelling``.
    instead: what users can write on a target that lacks the operation, for errors.
    feature: the feature that a target must declare besides the operation.

    collective: the block executes it as one, so that all its threads must reach it, with the same operands.
    in_parallel: it may stand inside T.Parallel, where each iteration executes it.
    combines_threads: it is an expression whose value is computed from values of several threads.
    elementwise: it reads each element before it writes the same one, so that source and destination may be one region.
    no_memory: it neither writes memory nor waits for other threads.
    is_mark: it states something about the kernel, and generates no code of its own.
    is_emitted: the code generator emits it, so it has no implementation.
    internal: passes make it; it is not in the language.
    """

    name: str
    operands: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    module: str = ""
    spelling: str = ""
    spellings: tuple[tuple[str, str], ...] = ()
    instead: str = ""
    feature: str = ""
    collective: bool = False
    in_parallel: bool = False
    combines_threads: bool = False
    elementwise: bool = False
    no_memory: bool = False
    is_mark: bool = False
    is_emitted: bool = False
    internal: bool = False

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    def operand_names(self) -> list[str]:
        return [name.partition(":")[0] for name in self.operands]

    def spelled(self, kind: str = "") -> str:
        """The name in the language, without ``T.``, of the operation with this operand ``kind``."""
        return dict(self.spellings).get(kind) or (self.spelling.format(kind=kind) if kind else "") or self.name


_ROWS = (
    # dst[...] = cast(src[...]); unit axes of either side are dropped before they are matched.
    TileOp(
        "copy",
        ("src:region", "dst:region"),
        reads=("src",),
        writes=("dst",),
        module="copies",
        instead="a loop: for i, j in T.Parallel(...): dst[i, j] = src[i, j]",
        collective=True,
        elementwise=True,
    ),
    # dst[j, i] = cast(src[i, j])
    TileOp(
        "transpose",
        ("src:region", "dst:region"),
        reads=("src",),
        writes=("dst",),
        module="copies",
        instead="a loop: for i, j in T.Parallel(...): dst[j, i] = src[i, j]",
        collective=True,
    ),
    # c = (0 if clear_accum else c) + op(a) @ op(b), accumulated in c's dtype
    TileOp(
        "gemm",
        (
            "a:region",
            "b:region",
            "c:region",
            "transpose_a:int",
            "transpose_b:int",
            "clear_accum:expr",
            "policy:int",
        ),
        reads=("a", "b", "c"),
        writes=("c",),
        module="gemm",
        instead="loops: for i, j in T.Parallel(M, N): for k in T.serial(K): C[i, j] += A[i, k] * B[k, j]",
        collective=True,
    ),
    TileOp(
        "fill",
        ("dst:region", "value:expr"),
        writes=("dst",),
        module="copies",
        instead="a loop: for i, j in T.Parallel(...): buffer[i, j] = value",
        collective=True,
    ),
    # kind: sum prod max min abssum absmax bitand bitor bitxor; dst = reduce(src, dim), joined with dst unless clear
    TileOp(
        "reduce",
        ("src:region", "dst:region", "kind:str", "dim:int", "clear:int", "nan_propagate:int"),
        reads=("src", "dst"),
        writes=("dst",),
        module="reductions",
        spelling="reduce_{kind}",
        instead="loops: for i in T.Parallel(M): for k in T.serial(N): dst[i] = dst[i] + src[i, k]",
        collective=True,
    ),
    # kind: sum max; inclusive, along dim, from the end if reverse
    TileOp(
        "scan",
        ("src:region", "dst:region", "kind:str", "dim:int", "reverse:int"),
        reads=("src",),
        writes=("dst",),
        spelling="cum{kind}",
        instead="a T.serial loop that adds up: dst[i] = dst[i - 1] + src[i]",
        collective=True,
        elementwise=True,
    ),
    # kind: add max min or and xor exchange store; element by element
    TileOp(
        "atomic",
        ("dst:region", "value:any", "kind:str", "order:str"),
        reads=("dst", "value"),
        writes=("dst",),
        spelling="atomic_{kind}",
        instead="an output for each block, and a second T.Kernel that adds them up",
        feature="atomics",
        collective=True,
        in_parallel=True,
        elementwise=True,
    ),
    # expression: the value of dst (a BufferLoad) before; kind as above, load, which takes value 0, and cas, which
    # stores value where dst equals compare
    TileOp(
        "atomic_element",
        ("dst:load", "value:expr", "kind:str", "order:str", "compare:any*"),
        spelling="atomic_{kind}",
        instead="an output for each block, and a second T.Kernel that combines them",
        feature="atomics",
        in_parallel=True,
        is_emitted=True,
    ),
    # a reducer buffer becomes an ordinary one: partial results of all threads joined
    TileOp(
        "finalize_reducer",
        ("buffer:region",),
        reads=("buffer",),
        writes=("buffer",),
        module="reducers",
        instead="T.reduce_sum and the like on a buffer",
        collective=True,
    ),
    # threads reduce their partial sums (lowering/simt/sink_reductions.py)
    TileOp("reduce_partials", ("buffer:region",), reads=("buffer",), writes=("buffer",), internal=True),
    TileOp(
        "sync_threads",
        (),
        module="debugging",
        instead="tile operations and T.Parallel, which need no explicit barriers",
    ),
    # expression: one value of every thread of a group (ir/thread_groups.py), joined; kind as for reduce
    TileOp(
        "allreduce",
        ("value:expr", "kind:str", "extent:int", "stride:int"),
        instead="T.reduce_sum and the like on a buffer",
        combines_threads=True,
        no_memory=True,
    ),
    # expression: the value of another thread of the warp, in parts of width threads; kind: idx xor up down
    # (language/threads.py)
    TileOp(
        "shuffle",
        ("value:expr", "lane:expr", "kind:str", "width:int"),
        spelling="shfl_{kind}",
        spellings=(("idx", "shfl_sync"),),
        instead="shared memory: write, T.sync_threads, read",
        combines_threads=True,
        no_memory=True,
    ),
    # expression: one bit for each thread of the warp: does predicate hold in it?
    TileOp(
        "ballot",
        ("predicate:expr",),
        module="threads",
        instead="shared memory: write, T.sync_threads, read",
        combines_threads=True,
        no_memory=True,
    ),
    # message, then expressions or one region
    TileOp(
        "print",
        ("message:str", "values:any*"),
        module="debugging",
        instead="an output that the kernel writes",
        feature="print",
        in_parallel=True,
        no_memory=True,
    ),
    TileOp(
        "device_assert",
        ("condition:expr", "message:str"),
        module="debugging",
        instead="a check on the host before the launch",
        feature="device_assert",
        in_parallel=True,
        no_memory=True,
        is_emitted=True,
    ),
    TileOp(
        "assume",
        ("condition:expr",),
        module="debugging",
        in_parallel=True,
        no_memory=True,
        is_mark=True,
        is_emitted=True,
    ),
    # a hint with no meaning of its own: a key and its values
    TileOp("annotate", ("key:str", "values:any*"), in_parallel=True, no_memory=True, is_mark=True),
)
TILE_OPS: dict[str, TileOp] = {op.name: op for op in _ROWS}  # the table of tile operations, by their names
