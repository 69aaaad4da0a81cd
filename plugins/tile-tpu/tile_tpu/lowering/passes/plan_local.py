"""Assigns every local buffer of a kernel its address in a lane. Buffers whose live ranges are disjoint share memory.

The kernel gets the attribute ``tpu.local``: {name of the buffer: byte address in a lane}. The names become unique.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.attributes import TpuFunctionAttr
from tile_tpu.ir.views import LOCAL
from tile_tpu.lowering.kernels import of_each_kernel
from tile_tpu.lowering.local_memory.bank_allocator import Memory, Pairs, Request, allocate, bank_conflicts, peak_bytes
from tile_tpu.lowering.local_memory.live_ranges import LiveRange, LiveRanges
from tile_tpu.options import DISABLE_BANK_AWARE_ALLOCATION
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.errors import LimitError, UnsupportedError
from tilecore.ir.build import constant, dtype_of, nothing
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, PrimFunc, Stmt, Var, structural_map, tirx
from tilecore.ir.visit import collect, substitute


def plan_local(func: PrimFunc, env: PassEnv) -> PrimFunc:
    chip = chip_of(env.target)
    body = with_unique_names(func.body, {str(param.name) for param in func.params})
    live_ranges = LiveRanges(body, chip.lanes)
    buffers = list(live_ranges.ranges)
    requests = [request_of(live_ranges.ranges[buffer], buffer, chip) for buffer in buffers]
    pairs = pairs_of(live_ranges, buffers)
    addresses = allocate(requests, pairs if is_bank_aware(env) else {}, memory_of(chip))
    if addresses is None:
        raise _does_not_fit(buffers, live_ranges, requests, chip)
    offsets = {str(buffer.name): address for buffer, address in zip(buffers, addresses, strict=True)}
    for alias, root in live_ranges.aliases.items():
        if str(root.name) in offsets:
            offsets[str(alias.name)] = offsets[str(root.name)]
    body = _without(body, live_ranges.unused, live_ranges.aliases)
    _note(env, buffers, live_ranges, requests, addresses, bank_conflicts(requests, addresses, pairs, chip.bank_bytes))
    return func.with_body(body).with_attr(TpuFunctionAttr.LOCAL_ADDRESSES, offsets)


def is_bank_aware(env: PassEnv) -> bool:
    """Whether buffers that engines use together are placed in different banks."""
    return not DISABLE_BANK_AWARE_ALLOCATION.value_in(env.config)


def fits(body: Stmt, chip: Chip) -> bool:
    """Whether the local buffers of this kernel fit into local memory."""
    live_ranges = LiveRanges(body, chip.lanes)
    requests = [request_of(live_range, buffer, chip) for buffer, live_range in live_ranges.ranges.items()]
    return allocate(requests, {}, memory_of(chip)) is not None


def memory_of(chip: Chip) -> Memory:
    return Memory(chip.lane_bytes, chip.eu_bytes, chip.bank_bytes)


def request_of(live_range: LiveRange, buffer: Var, chip: Chip) -> Request:
    return Request(-(-bytes_of(buffer) // chip.eu_bytes) * chip.eu_bytes, live_range.first, live_range.last)


def pairs_of(live_ranges: LiveRanges, buffers: Sequence[Var]) -> Pairs:
    numbers = {buffer: i for i, buffer in enumerate(buffers)}
    pairs = {}
    for key, weight in live_ranges.together.items():
        a, b = sorted(numbers[buffer] for buffer in key)
        pairs[a, b] = weight
    return pairs


def bytes_of(buffer: Var) -> int:
    """The bytes that a local buffer takes in a lane."""
    elements = constant(buffer.shape[0])
    if elements is None:
        raise UnsupportedError(
            f"the size of {buffer.name} in local memory is not a compile-time constant",
            found=str(buffer.shape[0]),
            expected="a constant size",
        )
    return elements * DType(dtype_of(buffer)).bytes


def with_unique_names(body: Stmt, reserved: set[str]) -> Stmt:
    """Renames local buffers so that every name is unique, as addresses are looked up by name. reserved: names that are
    used already."""
    names = set(reserved)
    numbers: dict[str, int] = {}  # by name: the first one that may be free
    renamed: dict[Var, Var] = {}
    for node in collect(body, AllocBuffer, DeclBuffer):
        old = node.buffer
        if str(old.scope()) != LOCAL:
            continue
        name, number = str(old.name), numbers.get(str(old.name), 1)
        while name in names:
            name, number = f"{old.name}_{number}", number + 1
        names.add(name)
        numbers[str(old.name)] = number
        if name != str(old.name):
            renamed[old] = tirx.decl_buffer(list(old.shape), dtype_of(old), name, scope=LOCAL, layout=None)
    return replaced(body, renamed)


def _without(body: Stmt, unused: Sequence[Var], aliases: Mapping[Var, Var]) -> Stmt:
    """Removes the allocations of buffers that are never accessed."""
    gone = {*unused, *(alias for alias, root in aliases.items() if root in unused)}
    if not gone:
        return body

    def declared(node: AllocBuffer | DeclBuffer) -> Any:
        return nothing() if node.buffer in gone else node

    return structural_map(body, [(AllocBuffer, declared), (DeclBuffer, declared)])


def replaced(body: Stmt, others: dict[Var, Var]) -> Stmt:
    """``body`` with local buffers replaced: {buffer: its replacement}."""
    if not others:
        return body

    def alias(node: DeclBuffer) -> Any:
        source = node.data.args[0]
        data = tirx.buffer_data(others.get(source, source))
        return DeclBuffer(others.get(node.buffer, node.buffer), data=data, span=node.span)

    def alloc(node: AllocBuffer) -> Any:
        return AllocBuffer(others.get(node.buffer, node.buffer), span=node.span)

    body = structural_map(body, [(AllocBuffer, alloc), (DeclBuffer, alias)])
    return substitute(body, others)


def _note(
    env: PassEnv,
    buffers: Sequence[Var],
    live_ranges: LiveRanges,
    requests: Sequence[Request],
    addresses: Sequence[int],
    shared: dict[tuple[int, int], int],
) -> None:
    rows = {str(b.name): [a, p.size] for b, a, p in zip(buffers, addresses, requests, strict=True)}
    lines = {str(b.name): live_ranges.ranges[b].lines for b in buffers if live_ranges.ranges[b].lines}
    high = max((a + p.size for a, p in zip(addresses, requests, strict=True)), default=0)
    env.note("shared_memory", {"bytes": high, "buffers": rows, "lines": lines})
    for (a, b), weight in sorted(shared.items(), key=lambda item: -item[1]):
        names = f"{buffers[a].name} and {buffers[b].name}"
        env.note("notes", {"text": f"{names} share a bank of local memory, which delays {weight} commands"})


def _does_not_fit(
    buffers: Sequence[Var], live_ranges: LiveRanges, requests: Sequence[Request], chip: Chip
) -> LimitError:
    rows = []
    for buffer, request in sorted(zip(buffers, requests, strict=True), key=lambda row: -row[1].size)[:8]:
        live_range = live_ranges.ranges[buffer]
        used = f", used on lines {live_range.lines[0]} to {live_range.lines[1]}" if live_range.lines else ""
        rows.append(f"{buffer.name} {request.size}{used}")
    first = max(range(len(buffers)), key=lambda i: requests[i].size)
    return LimitError(
        f"the kernel's tiles need {peak_bytes(requests)} bytes of local memory in each lane at one time",
        location=live_ranges.ranges[buffers[first]].location,
        found="; ".join(rows),
        expected=f"at most {chip.lane_bytes} bytes in a lane of {chip.name}",
        hint="use smaller tiles or narrower element types. Fewer stages of T.Pipelined do not help: a loop is not "
        "pipelined where second slots do not fit. Names that the kernel does not have are temporaries",
    )


PLAN_LOCAL = Pass("plan_local", of_each_kernel(plan_local))
