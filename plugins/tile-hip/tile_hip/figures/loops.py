"""Finds the loops of a kernel and the one that takes its time: basic blocks, dominators, natural loops.

Definitions: Aho, Lam, Sethi and Ullman, "Compilers", section 9.6 (a loop: the target of a backward edge that dominates
its source, and the blocks that reach the source without it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tile_hip.figures.assembly import Instruction
from tile_hip.figures.instruction_kinds import is_matrix

_ENDS = ("s_branch", "s_endpgm", "s_setpc_b64")


@dataclass(frozen=True)
class Loop:
    """blocks: the indices of its basic blocks. depth: 1 for a loop in no other. inner: the loops inside of it."""

    header: int
    blocks: frozenset[int]
    depth: int
    inner: int


@dataclass(frozen=True)
class Flow:
    """The basic blocks of a kernel: (first, end) indices of instructions, and the blocks that each goes on to."""

    instructions: Sequence[Instruction]
    blocks: tuple[tuple[int, int], ...]
    next: tuple[tuple[int, ...], ...]

    def of(self, blocks: frozenset[int]) -> list[Instruction]:
        """The instructions of some blocks, in the order in which they stand."""
        return [i for block in sorted(blocks) for i in self.instructions[slice(*self.blocks[block])]]


def flow(instructions: Sequence[Instruction]) -> Flow:
    """The basic blocks of a kernel."""
    count = len(instructions)
    starts = {0} if count else set()
    for index, instruction in enumerate(instructions):
        if instruction.target is not None:
            starts.add(instruction.target)
        if instruction.target is not None or instruction.name in _ENDS:
            starts.add(index + 1)
    ordered = sorted(start for start in starts if start < count)
    number = {start: block for block, start in enumerate(ordered)}
    blocks = tuple(zip(ordered, [*ordered[1:], count], strict=True)) if ordered else ()
    following = []
    for _, end in blocks:
        last = instructions[end - 1]
        successors = [number[last.target]] if last.target is not None and last.target in number else []
        if last.name not in _ENDS and end in number:
            successors.append(number[end])
        following.append(tuple(dict.fromkeys(successors)))
    return Flow(instructions, blocks, tuple(following))


def loops_of(graph: Flow) -> list[Loop]:
    """The natural loops; those with one header are one loop."""
    dominators, before = _dominators(graph), _before(graph)
    members: dict[int, set[int]] = {}
    for block, following in enumerate(graph.next):
        for header in following:
            if header in dominators[block]:
                members.setdefault(header, {header}).update(_reaching(before, block, header))
    bodies = {header: frozenset(blocks) for header, blocks in members.items()}
    return [
        Loop(
            header,
            blocks,
            depth=sum(blocks <= other for other in bodies.values()),
            inner=sum(other < blocks for other in bodies.values()),
        )
        for header, blocks in sorted(bodies.items())
    ]


def main_loop(graph: Flow) -> Loop | None:
    """The loop that takes the time; None for a kernel without loops.

    Of the loops with matrix instructions that contain no other such loop, it is the one with the most of them. Without
    matrix instructions it is the deepest loop, of several the longest.
    """
    loops = loops_of(graph)
    matrix = {loop.header: sum(map(is_matrix, map(_name, graph.of(loop.blocks)))) for loop in loops}
    multiplying = [
        loop
        for loop in loops
        if matrix[loop.header] and not any(matrix[o.header] and o.blocks < loop.blocks for o in loops)
    ]
    if multiplying:
        return max(multiplying, key=lambda loop: (matrix[loop.header], loop.depth))
    return max(loops, key=lambda loop: (loop.depth, len(graph.of(loop.blocks))), default=None)


def _name(instruction: Instruction) -> str:
    return instruction.name


def _before(graph: Flow) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in graph.blocks]
    for block, following in enumerate(graph.next):
        for other in following:
            before[other].append(block)
    return before


def _reaching(before: list[list[int]], block: int, header: int) -> set[int]:
    """The blocks from which ``block`` is reached without passing through ``header``."""
    reaching, waiting = {header}, [block]
    while waiting:
        current = waiting.pop()
        if current not in reaching:
            reaching.add(current)
            waiting += before[current]
    return reaching


def _dominators(graph: Flow) -> list[set[int]]:
    """The dominators of each block, by iteration to a fixed point; of a block that nothing reaches none at all."""
    before = _before(graph)
    order = _reverse_postorder(graph)
    everything = set(order)
    dominators = [set(everything) if block in everything else set() for block in range(len(graph.blocks))]
    if order:
        dominators[0] = {0}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            ways = [dominators[other] for other in before[block] if other in everything]
            now = set.intersection(*ways) | {block}
            if now != dominators[block]:
                dominators[block], changed = now, True
    return dominators


def _reverse_postorder(graph: Flow) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    waiting = [(0, iter(graph.next[0]))] if graph.blocks else []
    seen.update({0} if graph.blocks else ())
    while waiting:
        block, following = waiting[-1]
        other = next((other for other in following if other not in seen), None)
        if other is None:
            order.append(block)
            waiting.pop()
        else:
            seen.add(other)
            waiting.append((other, iter(graph.next[other])))
    return order[::-1]
