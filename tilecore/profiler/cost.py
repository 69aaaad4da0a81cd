"""The cost of a kernel by its tile IR: floating-point operations, and bytes of global memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

from tilecore.artifact.records import ScalarParam, TensorParam
from tilecore.errors import ArgumentError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.jit.kernel import JITKernel


@dataclass(frozen=True)
class TensorCost:
    """Bytes of one tensor. read, written: of different elements. moved_read, moved_written: each element as often as
    statements of the kernel access it."""

    read: int = 0
    written: int = 0
    moved_read: int = 0
    moved_written: int = 0


@dataclass(frozen=True)
class KernelCost:
    """What one call of a kernel does, counted in its tile IR, before any optimization.

    matrix_flops_by_type: of matrix products, by the element type of A: 2 * M * N * K each. Rows, columns and inner
    indices for which a T.copy has filled a tile of A or B from beyond the edge of a tensor, with zeros, do not count.
    element_flops: of other arithmetic on floating-point numbers: one for each + - * /, minimum, maximum and
    mathematical function, n - 1 for a reduction of n elements. Tiles of these over the edge count as whole ones, as
    they are executed.
    bytes_read, bytes_written: of the different elements of tensors that are read and written, what must move at least
    where caches are ideal. moved_bytes: what statements ask for, each time; caches answer a part of it.
    tensors: the bytes of each tensor, by name. sizes: those of the call, and integer scalars.
    bound: "exact"; "at most" or "at least" where data decides what is executed; "estimate" where both apply. notes: the
    reasons.
    """

    name: str
    matrix_flops_by_type: Mapping[str, int]
    element_flops: int
    bytes_read: int
    bytes_written: int
    moved_bytes: int
    tensors: Mapping[str, TensorCost]
    sizes: Mapping[str, int]
    bound: str = "exact"
    notes: tuple[str, ...] = ()

    @property
    def matrix_flops(self) -> int:
        """Operations of matrix products."""
        return sum(self.matrix_flops_by_type.values())

    @property
    def flops(self) -> int:
        """Floating-point operations, matrix products and others."""
        return self.matrix_flops + self.element_flops

    @property
    def bytes(self) -> int:
        """Bytes of different elements that are read, and that are written."""
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte; infinite for a kernel that accesses no tensor."""
        return self.flops / self.bytes if self.bytes else float("inf")

    def __str__(self) -> str:
        sizes = f" ({', '.join(f'{name}={value}' for name, value in self.sizes.items())})" if self.sizes else ""
        lines = [
            f"{self.name}{sizes}: {'' if self.bound == 'exact' else self.bound + ' '}{self.flops:,} flops "
            f"({self.matrix_flops:,} of matrix products), {self.bytes:,} bytes ({self.bytes_read:,} read, "
            f"{self.bytes_written:,} written; statements move {self.moved_bytes:,}), {self.intensity:.3g} flops/byte"
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def cost_of(kernel: JITKernel, arguments: Sequence[Any] = (), sizes: Mapping[str, int] | None = None) -> KernelCost:
    """The cost of a call of ``kernel`` with these arguments, or of one with these sizes.

    Raises ArgumentError for sizes that are missing or unknown, TargetError for a kernel without tile IR.
    """
    return cost_of_function(kernel.prim_func, kernel.artifact, _sizes(kernel.artifact, arguments, dict(sizes or {})))


def cost_of_function(func: Any, artifact: Artifact, sizes: Mapping[str, int]) -> KernelCost:
    """The cost of tile IR. sizes: values of all symbols of ``artifact``, and of integer scalars as far as known."""
    from tilecore.profiler.work.values import Values
    from tilecore.profiler.work.walk import AT_LEAST, AT_MOST, Walk, known_variables

    variables = known_variables(func)
    known = {var: value for name, value in sizes.items() for var in variables.get(name, ())}
    work = Walk(func, Values(known, func.body)).work
    tensors: dict[str, dict[str, int]] = {}
    bounds = {bound for bound, _ in work.notes}
    notes = [f"{bound}: {text}" for bound, text in work.notes]
    for (name, mode), traffic in work.traffic.items():
        unique, is_exact = traffic.unique_bytes()
        word = "read" if mode == "r" else "written"
        tensors.setdefault(name, {})[word] = unique
        tensors[name][f"moved_{word}"] = traffic.moved_bytes()
        if not is_exact and unique:
            bounds.add(AT_MOST)
            notes.append(f"{AT_MOST}: the different elements of {name} that are {word} are counted by their ranges")
    costs = {name: TensorCost(**amounts) for name, amounts in tensors.items()}
    bound = "exact" if not bounds else bounds.pop() if len(bounds) == 1 else "estimate"
    return KernelCost(
        artifact.name,
        dict(work.matrix_operations),
        work.element_operations,
        sum(cost.read for cost in costs.values()),
        sum(cost.written for cost in costs.values()),
        sum(cost.moved_read + cost.moved_written for cost in costs.values()),
        costs,
        dict(sizes),
        bound if bound in ("exact", AT_MOST, AT_LEAST) else "estimate",
        tuple(notes),
    )


def _sizes(artifact: Artifact, arguments: Sequence[Any], sizes: dict[str, int]) -> dict[str, int]:
    """The values of all symbols and of the scalars that are given."""
    from tilecore.profiler.supply import check_names, sizes_of

    symbols = [symbol.name for symbol in artifact.symbols]
    if arguments:
        inputs = [param for number, param in enumerate(artifact.params) if number not in artifact.out_idx]
        if sizes or len(arguments) != len(inputs):
            raise ArgumentError(
                f"{artifact.name}.cost() got {len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
                f"{' and sizes by name' if sizes else ''}",
                expected=f"all {len(inputs)} arguments of a call ({', '.join(param.name for param in inputs)}), or "
                "sizes by name instead of them",
            )
        values = zip(inputs, arguments, strict=True)
        given = {param.name: value for param, value in values if isinstance(param, ScalarParam)}
        known = sizes_of(artifact, arguments)
        for param, value in zip(inputs, arguments, strict=True):
            _check_shape(artifact, param, value, known)
        return {**{name: value for name, value in given.items() if isinstance(value, int)}, **known}
    check_names(
        artifact,
        sizes,
        f"{artifact.name}.cost()",
        lambda names: f"cost({', '.join(f'{name}=1024' for name in names)}), or the arguments of a call",
    )
    return {name: _whole(artifact, name, value, 0 if name in symbols else None) for name, value in sizes.items()}


def _whole(artifact: Artifact, name: str, value: Any, least: int | None) -> int:
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        raise ArgumentError(
            f"{artifact.name}.cost(): {name} is wrong",
            found=f"{name}={value!r}",
            expected="a whole number" + ("" if least is None else f", at least {least}"),
        )
    return number


def _check_shape(artifact: Artifact, param: Any, value: Any, sizes: Mapping[str, int]) -> None:
    """Raises ArgumentError for a tensor that the kernel would not accept with these sizes."""
    if not isinstance(param, TensorParam) or value is None:
        return
    given = tuple(int(size) for size in value.shape)
    shape = [size if isinstance(size, int) else sizes.get(str(size)) for size in param.shape]
    if len(given) != len(shape) or any(size not in (None, own) for size, own in zip(shape, given, strict=True)):
        raise ArgumentError(
            f"{artifact.name}.cost(): the shape of {param.name} does not fit",
            found=str(given),
            expected=f"({', '.join(map(str, param.shape))})",
        )
