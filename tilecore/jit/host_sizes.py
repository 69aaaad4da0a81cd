"""Sizes of a call in the C source of libraries: expressions of int64_t, and the memory of workspaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import Dim
from tilecore.codegen.literals import quoted
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import HostCode

SIZE_FUNCTIONS = r"""
static inline int64_t tc_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static inline int64_t tc_floor_mod(int64_t a, int64_t b) { return a - tc_floor_div(a, b) * b; }
static inline int64_t tc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int tc_fits(int64_t least, int64_t value, int64_t most) { return value >= least && value <= most; }
// blocks along x, y, z and bytes of shared memory: NULL, or what is wrong
static inline const char *tc_wrong_grid(const int64_t *grid) {
  int64_t blocks;
  if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0) return "the launch has a negative number of blocks";
  if (__builtin_mul_overflow(grid[0], grid[1], &blocks) || __builtin_mul_overflow(blocks, grid[2], &blocks))
    return "the launch has too many blocks";
  if (!tc_fits(0, grid[3], INT32_MAX)) return "a size of the shared memory is negative or too large";
  return NULL;
}
"""
_FUNCTIONS = {"//": "tc_floor_div", "%": "tc_floor_mod", "min": "tc_min", "max": "tc_max"}
_OPERATORS = {"and": "&&", "or": "||"}


def require_allocation(artifact: Artifact, code: HostCode) -> None:
    """Raises UnsupportedError for workspaces that the execution backend does not allocate."""
    if artifact.workspaces and not code.allocates:
        raise UnsupportedError(
            f"{artifact.name} needs workspaces, which a library does not allocate",
            found=", ".join(workspace.name for workspace in artifact.workspaces),
            hint='kernel.export("kernel.tck") exports it, and tilecore.load_kernel loads it',
        )


def allocations(
    artifact: Artifact, first: int, device: str, names: Mapping[str, str], fail: Callable[[str], str]
) -> list[str]:
    """Lines that allocate the workspaces, whose slots begin at ``first``. fail: the statement that ends the call with
    an error, of a text in quotes."""
    lines: list[str] = []
    for number, workspace in enumerate(artifact.workspaces):
        bits = " * ".join(
            [f"INT64_C({FACTS[workspace.dtype].bits})", *(f"({dim_text(d, names)})" for d in workspace.shape)]
        )
        negative = quoted(f"{artifact.name}(): the size of the workspace {workspace.name} is negative")
        extents = " || ".join(f"({dim_text(d, names)}) < 0" for d in workspace.shape) or "0"
        held = "".join(f" tilecore_free((void *)slots[{first + other}], {device});" for other in range(number))
        message = quoted(f"{artifact.name}(): no memory for the workspace {workspace.name}")
        lines += [
            f"  if ({extents}) {{{held} {fail(negative)} }}",
            f"  slots[{first + number}] = (int64_t)tilecore_allocate(({bits} + 7) / 8, {device});",
            f"  if (!slots[{first + number}]) {{{held} {fail(message)} }}",
        ]
    return lines


def dim_text(dim: Dim, names: Mapping[str, str]) -> str:
    """A size as an expression of int64_t. names: the variables of the symbols."""
    return _tree(dim if isinstance(dim, int) else dim.tree, names)


def _tree(tree: Any, names: Mapping[str, str]) -> str:
    if isinstance(tree, int):
        return f"INT64_C({tree})"
    if isinstance(tree, str):
        return names[tree]
    operator, *operands = tree
    texts = [_tree(operand, names) for operand in operands]
    if operator == "select":
        return f"({texts[0]} ? {texts[1]} : {texts[2]})"
    if operator in _FUNCTIONS:
        return f"{_FUNCTIONS[operator]}({texts[0]}, {texts[1]})"
    return f"({texts[0]} {_OPERATORS.get(operator, operator)} {texts[1]})"
