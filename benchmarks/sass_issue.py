"""A model of how a multiprocessor issues the main loop of a compiled kernel, from the control bits of its SASS.

    cuobjdump -sass kernel.cubin > kernel.sass
    python benchmarks/sass_issue.py kernel.sass [--warps 8] [--blocks 1] [--wavefronts 2,3,4]

For sm_70 to sm_90. The loop with the most FFMA is taken. Four schedulers issue one instruction a cycle, of the warp
that issued last where it can go on, else of the oldest that can. A warp waits as its instructions say: stall cycles,
and the scoreboards in its wait mask. Loads of shared memory share one pipe: a load of 16 bytes takes 2 wavefronts where
lanes are laid out in pairs, up to 4 where not. All warps of a block stop at its barrier.

Not modelled: the instruction cache, global memory, conflicts of register banks beyond what the stall cycles say. So the
numbers are to compare loops by; no run on a card has confirmed them. Where the control bits are: "Dissecting the NVIDIA
Volta GPU Architecture via Microbenchmarking", section 2.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

SCHEDULERS, SCOREBOARDS = 4, 6
LOAD, OTHER, BARRIER, CONTROL = 29, 20, 12, 41  # latencies in cycles; first of the control bits in the second word
ITERATIONS = 6
_LINE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* 0x[0-9a-f]+ \*/")
_REST = re.compile(r"\s+/\* 0x([0-9a-f]+) \*/")


@dataclass(frozen=True)
class Instruction:
    """stall: cycles before the warp's next one; writes, reads: the scoreboards it sets (7: none); waits: a mask."""

    address: int
    text: str
    stall: int
    writes: int
    reads: int
    waits: int

    @property
    def name(self) -> str:
        return re.sub(r"^@\S+ ", "", self.text).split()[0]


@dataclass
class Warp:
    scheduler: int
    block: int
    place: int = 0
    iteration: int = 0
    ready: int = 0
    stopped: bool = False
    boards: list[list[int]] = field(default_factory=lambda: [[] for _ in range(SCOREBOARDS)])

    def can_issue(self, instruction: Instruction, now: int) -> bool:
        if self.stopped or self.ready > now:
            return False
        held = (b for b in range(SCOREBOARDS) if instruction.waits >> b & 1)
        return not any(end > now for board in held for end in self.boards[board])

    def hold(self, board: int, end: int, now: int) -> None:
        if board < SCOREBOARDS:
            self.boards[board] = [e for e in self.boards[board] if e > now] + [end]


def instructions_of(path: Path) -> list[Instruction]:
    instructions: list[Instruction] = []
    pending: tuple[int, str] | None = None
    for line in path.read_text().splitlines():
        match = _LINE.match(line)
        if match:
            pending = int(match[1], 16), match[2].strip()
            continue
        match = _REST.match(line)
        if match and pending is not None:
            bits = int(match[1], 16) >> CONTROL
            instructions.append(Instruction(*pending, bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63))
            pending = None
    return instructions


def main_loop(instructions: list[Instruction]) -> list[Instruction]:
    """The innermost of the loops with the most FFMA."""
    loops = []
    for instruction in instructions:
        match = re.search(r"\bBRA\b.*0x([0-9a-f]+)", instruction.text)
        if match and int(match[1], 16) < instruction.address:
            body = [i for i in instructions if int(match[1], 16) <= i.address <= instruction.address]
            loops.append(body)
    return max(loops, key=lambda body: (sum(i.name == "FFMA" for i in body), -len(body)), default=[])


class Multiprocessor:
    def __init__(self, body: list[Instruction], warps: int, blocks: int, wavefronts: int) -> None:
        self.body, self.wavefronts, self.of_block = body, wavefronts, warps // blocks
        self.warps = [Warp(n % SCHEDULERS, n // self.of_block) for n in range(warps)]
        self.pipe = self.now = self.products = 0
        self.last: list[Warp | None] = [None] * SCHEDULERS

    def run(self) -> float:
        """FFMA for each scheduler and cycle, from the second iteration of all warps until the first has ended."""
        begun = None
        while not any(warp.iteration == ITERATIONS for warp in self.warps):
            for scheduler in range(SCHEDULERS):
                self._issue(scheduler)
            if begun is None and all(warp.iteration for warp in self.warps):
                begun, self.products = self.now, 0
            self.now += 1
        return self.products / (SCHEDULERS * max(1, self.now - (begun or 0)))

    def _issue(self, scheduler: int) -> None:
        warps = [warp for warp in self.warps if warp.scheduler == scheduler]
        warps.sort(key=lambda warp: warp is not self.last[scheduler])
        for warp in warps:
            if warp.can_issue(self.body[warp.place], self.now):
                self._start(warp, self.body[warp.place])
                self.last[scheduler] = warp
                return

    def _start(self, warp: Warp, instruction: Instruction) -> None:
        name, now = instruction.name, self.now
        warp.ready = now + max(1, instruction.stall)
        if name.startswith("BAR"):
            warp.stopped = True
            block = [other for other in self.warps if other.block == warp.block]
            if all(other.stopped for other in block):
                for other in block:
                    other.stopped, other.ready = False, now + BARRIER
        elif name.startswith(("LDS", "STS", "LDGSTS")):
            few = {"LDS": 1, "LDS.64": min(2, self.wavefronts), "LDS.128": self.wavefronts}
            self.pipe = max(self.pipe, now) + few.get(name, 4)
            warp.hold(instruction.writes, self.pipe + LOAD, now)
            warp.hold(instruction.reads, self.pipe + 4, now)
        else:
            warp.hold(instruction.writes, now + OTHER, now)
        self.products += name == "FFMA"
        warp.place += 1
        if warp.place == len(self.body):
            warp.place, warp.iteration = 0, warp.iteration + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sass", type=Path)
    parser.add_argument("--warps", type=int, default=8, help="of a multiprocessor")
    parser.add_argument("--blocks", type=int, default=1, help="of a multiprocessor")
    parser.add_argument("--wavefronts", default="2,3,4", help="of a load of 16 bytes")
    options = parser.parse_args()
    body = main_loop(instructions_of(options.sass))
    products, loads = (sum(i.name.startswith(name) for i in body) for name in ("FFMA", "LDS"))
    if not products:
        parser.error(f"{options.sass} has no loop with FFMA")
    print(f"loop of {len(body)} instructions: {products} FFMA ({products / len(body):.3f}), {loads} LDS")
    for wavefronts in map(int, options.wavefronts.split(",")):
        rate = Multiprocessor(body, options.warps, options.blocks, wavefronts).run()
        print(f"{options.warps} warps in {options.blocks} blocks, {wavefronts} wavefronts: {rate:.3f} FFMA a cycle")
    return 0


if __name__ == "__main__":
    sys.exit(main())
