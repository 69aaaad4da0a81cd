"""T.Kernel: the grid of blocks, and the indices of the running block and thread."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tilecore.errors import LanguageError, WrongIndexError, WrongTypeError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint, StatementAttr
from tilecore.ir.nodes import AttrStmt, IntImm, IterVar, Range, Stmt, Var
from tilecore.ir.visit import substitute
from tilecore.language.integers import whole_number
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.builder import Frame
from tilecore.tracing.current import current, without_builder

LETTERS = "xyz"
DEFAULT_THREADS = 128


class Kernel:
    """``with T.Kernel(grid_x, grid_y, grid_z, threads=128) as (bx, by, bz):``: the body runs once for every block.

    Up to three grid extents, ints or expressions of sizes; without any, the grid is one block. threads: threads of a
    block, an int or up to three; a hint to targets without threads. cluster_dims: blocks along each axis that run at
    the same time side by side, a hint to targets that have clusters of blocks; the grid must be a multiple of it. The
    order in which blocks run is not defined. A function may have several, one after the other; each sees what the ones
    before it wrote.
    """

    def __init__(
        self,
        *blocks: Any,
        threads: int | Sequence[int] | None = None,
        prelude: str | None = None,
        cluster_dims: Any = None,
        is_cpu: bool = False,
    ) -> None:
        if len(blocks) > 3:
            raise LanguageError(f"T.Kernel has {len(blocks)} grid extents", expected="up to three")
        self.extent_count = len(blocks)  # how many the user wrote
        self.blocks = [Analyzer().simplify(as_expr(b)) for b in blocks or (1,)]
        for extent, letter in zip(self.blocks, LETTERS, strict=False):
            if not str(extent.ty.dtype).startswith(("int", "uint")):
                raise WrongTypeError(
                    f"grid extent {letter} of T.Kernel is a {extent.ty.dtype}",
                    found=str(extent),
                    expected="an integer",
                    hint="T.ceildiv(a, b) counts tiles including a partial last one; a // b rounds down",
                )
            if isinstance(extent, IntImm) and int(extent) < 0:
                raise LanguageError(f"grid extent {letter} of T.Kernel is negative", found=str(extent))
        self.threads = _three_extents(DEFAULT_THREADS if threads is None else threads, "threads")
        self.prelude = prelude
        self.cluster_dims = _three_extents(1 if cluster_dims is None else cluster_dims, "cluster_dims")
        _check_clusters(self.cluster_dims, self.blocks)
        self.names: tuple[str, ...] = ()
        self.unpacked = False
        self.asked_by: str | None = None  # the first function that asked for this kernel's grid and threads

    def set_names(self, names: tuple[str, ...], unpacked: bool = False) -> None:
        """The names behind ``as``. unpacked: they are a tuple, possibly of one name: ``as (bx,)``."""
        self.names, self.unpacked = names, unpacked

    def __enter__(self) -> Any:
        builder = current("T.Kernel")
        around = builder.enclosing("kernel")
        if around is not None:
            refusal = around.facts.get("refusal")  # of the statement that made the whole function a kernel
            raise refusal or LanguageError(
                "a T.Kernel stands inside another T.Kernel", hint="write one after the other"
            )
        builder.begin_kernel = None
        count = self.extent_count
        if self.unpacked and len(self.names) != count and "*" not in self.names:
            raise LanguageError(
                f"T.Kernel has {count} grid {'extent' if count == 1 else 'extents'} and {len(self.names)} "
                f"{'name' if len(self.names) == 1 else 'names'}",
                found=", ".join(self.names),
                expected=f"{count} {'name' if count == 1 else 'names'}, or one name without parentheses for all",
            )
        axes = range(len(self.blocks))
        names = self.names if len(self.names) == len(axes) else tuple(f"b{LETTERS[i]}" for i in axes)
        names = tuple(f"b{LETTERS[i]}" if n in ("v", "*") else n for i, n in enumerate(names))
        self.span = builder.span
        self.block_vars = [builder.variable(n, str(b.ty.dtype)) for n, b in zip(names, self.blocks, strict=True)]
        self.thread_vars = [builder.variable(f"t{LETTERS[i]}") for i in range(3)]
        self.frame = Frame("kernel", kernel=self)
        builder.frames.append(self.frame)
        from tilecore.language.debugging import emit_preconditions
        from tilecore.language.hints import annotate

        emit_preconditions(builder)
        if self.prelude:
            annotate(KernelHint.PRELUDE, str(self.prelude))
        if self.cluster_dims != (1, 1, 1):
            annotate(KernelHint.CLUSTER_DIMS, *self.cluster_dims)
        return self.block_vars[0] if count == 1 and not self.unpacked else tuple(self.block_vars[:count])

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        builder = current()
        if kind is not None:
            builder.leave(self.frame)
            return
        from tilecore.language.grid_sync import parts_of

        builder.close(self.frame)
        with without_builder():
            body = [self.launch(part, fresh=axis > 0) for axis, part in enumerate(parts_of(self.frame))]
        for kernel in body:
            builder.emit(kernel)

    def launch(self, body: Stmt, fresh: bool) -> Stmt:
        """The launch of ``body`` over the grid. fresh: whether its indices are new variables."""
        index_vars = [*self.thread_vars, *self.block_vars]
        launch_vars = [Var(str(v.name), v.ty) for v in index_vars] if fresh else index_vars
        body = substitute(body, dict(zip(index_vars, launch_vars, strict=True))) if fresh else body
        extents = [*(IntImm("int32", extent) for extent in self.threads), *self.blocks]
        tags = [f"threadIdx.{x}" for x in LETTERS] + [f"blockIdx.{x}" for x in LETTERS]
        axes = list(zip(launch_vars, extents, tags, strict=False))
        for var, extent, tag in [*reversed(axes[:3]), *reversed(axes[3:])]:
            body = _extent_attr(var, extent, tag, body, self.span)
        return body


def ClusterKernel(
    *blocks: Any, cluster_dims: Any, threads: int | Sequence[int] | None = None, prelude: str | None = None
) -> Kernel:
    """T.Kernel with clusters of blocks: ``T.Kernel(..., cluster_dims=...)``."""
    return Kernel(*blocks, threads=threads, prelude=prelude, cluster_dims=cluster_dims)


def _extent_attr(var: Var, extent: Any, tag: str, body: Any, span: Any) -> AttrStmt:
    axis = IterVar(Range.from_min_extent(IntImm(str(var.ty.dtype), 0), extent), var, IterVar.ThreadIndex, tag)
    return AttrStmt(axis, StatementAttr.AXIS, extent, body, span=span)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _three_extents(values: Any, name: str) -> tuple[int, int, int]:
    """Extents along x, y and z of a keyword of T.Kernel."""
    if any(is_kernel_value(size) for size in _tuple(values)):
        raise LanguageError(
            f"T.Kernel({name}=...) is not known when compiling", found=str(values), expected="Python ints"
        )
    sizes = [whole_number(size, f"T.Kernel({name}=...)") for size in _tuple(values)]
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise LanguageError(
            f"T.Kernel: {name} must be positive, one to three ints",
            found=str(values),
            expected="one to three positive ints",
        )
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def _check_clusters(cluster: tuple[int, int, int], blocks: list[Any]) -> None:
    """Raises LanguageError where the grid is known to be no multiple of the cluster."""
    for letter, size, extent in zip(LETTERS, cluster, [*blocks, *[IntImm("int32", 1)] * 2], strict=False):
        if isinstance(extent, IntImm) and int(extent) % size:
            raise LanguageError(
                f"T.Kernel has {int(extent)} blocks along {letter}, which is not a whole number of clusters",
                found=f"cluster_dims={cluster}",
                expected=f"a grid that is a multiple of {size} blocks along {letter}",
            )


def open_kernel(subject: str) -> Kernel:
    """The T.Kernel that is being built; raises a LanguageError about ``subject`` if there is none."""
    frame = current(subject).kernel_frame(
        lambda: LanguageError(f"{subject} stands outside T.Kernel", expected="a call inside `with T.Kernel(...)`")
    )
    kernel: Kernel = frame.facts["kernel"]
    kernel.asked_by = kernel.asked_by or subject
    return kernel


def get_thread_binding(dim: int = 0) -> Var:
    """The index of the running thread along axis ``dim`` (0 = x), an int32 variable."""
    return open_kernel("T.get_thread_binding").thread_vars[_dim(dim)]


def get_thread_bindings() -> list[Var]:
    """The indices of the running thread along x, y and z."""
    return list(open_kernel("T.get_thread_bindings").thread_vars)


def get_block_binding(dim: int = 0) -> Var:
    """The index of the running block along grid axis ``dim`` (0 = x)."""
    variables = open_kernel("T.get_block_binding").block_vars
    axis = whole_number(dim, "the axis of T.get_block_binding")
    if not 0 <= axis < len(variables):
        raise WrongIndexError(
            f"grid axis {axis} does not exist", expected=f"0 to {len(variables) - 1}, of {len(variables)} grid extents"
        )
    return variables[axis]


def get_block_bindings() -> list[Var]:
    """The indices of the running block."""
    return list(open_kernel("T.get_block_bindings").block_vars)


def get_thread_extent(dim: int = 0) -> int:
    """Threads of a block along axis ``dim``."""
    return open_kernel("T.get_thread_extent").threads[_dim(dim)]


def get_thread_extents() -> list[int]:
    """Threads of a block along x, y and z."""
    return list(open_kernel("T.get_thread_extents").threads)


def get_block_extent(dim: int = 0) -> Any:
    """Blocks of the grid along axis ``dim``: an int, or an expression of sizes."""
    return _extents_of_grid("T.get_block_extent")[_dim(dim)]


def get_block_extents() -> list[Any]:
    """Blocks of the grid along x, y and z: ints, or expressions of sizes."""
    return _extents_of_grid("T.get_block_extents")


def _extents_of_grid(subject: str) -> list[Any]:
    sizes = [int(size) if isinstance(size, IntImm) else size for size in open_kernel(subject).blocks]
    return [*sizes, 1, 1][:3]


def get_cluster_dims() -> list[int]:
    """Blocks of a cluster along x, y and z; 1, 1, 1 in a kernel without clusters."""
    return list(open_kernel("T.get_cluster_dims").cluster_dims)


def get_cluster_size() -> int:
    """Blocks of a cluster."""
    return prod(open_kernel("T.get_cluster_size").cluster_dims)


def get_cluster_extent(dim: int = 0) -> Any:
    """Clusters of the grid along axis ``dim``."""
    return _extents_of_grid("T.get_cluster_extent")[_dim(dim)] // get_cluster_dims()[dim]


def get_cluster_extents() -> list[Any]:
    """Clusters of the grid along x, y and z."""
    return [get_cluster_extent(dim) for dim in range(3)]


def get_cluster_id(dim: int = 0) -> Any:
    """The index of the running block's cluster along grid axis ``dim``."""
    return get_block_binding(dim) // get_cluster_dims()[dim]


def get_cluster_ids() -> list[Any]:
    """The indices of the running block's cluster."""
    return [get_cluster_id(dim) for dim in range(len(open_kernel("T.get_cluster_ids").block_vars))]


def _dim(dim: int) -> int:
    if whole_number(dim, "the axis") not in (0, 1, 2):
        raise WrongIndexError(f"thread axis {dim} does not exist", expected="0, 1 or 2")
    return dim
