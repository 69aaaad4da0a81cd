"""Checks of what only a card can show: launching as the core's checks do, streams, graphs, several devices."""

from __future__ import annotations

from collections.abc import Callable

from tilecore.errors import LaunchError
from tilecore.testing.first_run import checks, kernels
from tilecore.testing.first_run.machine import Machine, Skipped, close


def too_large_grids(machine: Machine) -> None:
    """A grid of 2^32 threads is refused with an error."""
    machine.needs_device()
    kernel, x = machine.compile(kernels.many_blocks()), machine.zeros(1, dtype="int32")
    try:
        kernel(x, 2**22)
    except LaunchError as error:
        if "the grid is too large" not in str(error):
            raise
    else:
        raise AssertionError("the launch did not fail")


def streams(machine: Machine) -> None:
    """Kernels run on torch's current stream, behind its other work."""
    machine.needs_device()
    torch, kernel = machine.torch, machine.compile(kernels.add())
    a, b, c = machine.random(1 << 20), machine.random(1 << 20), machine.zeros(1 << 20)
    for stream in (torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(20):
                a.mul_(1.001)
            kernel(a, b, c)
            expected = a + b
        stream.synchronize()
        close(c, expected, 0)


def graphs(machine: Machine) -> None:
    """A captured launch runs when its graph is replayed, with what the tensors then hold."""
    machine.needs_device()
    torch, kernel = machine.torch, machine.compile(kernels.add())
    a, b, c = machine.random(1000), machine.random(1000), machine.zeros(1000)
    kernel(a, b, c)
    machine.synchronize()
    c.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
        c.add_(1)
    machine.synchronize()
    if c.any().item():
        raise AssertionError("the captured launch ran at once")
    for factor in (1, 3):
        a.fill_(factor)
        graph.replay()
        machine.synchronize()
        close(c, a + b + 1, 0)


def loading_inside_a_capture(machine: Machine) -> None:
    """The first launch of a kernel may be a captured one."""
    machine.needs_device()
    torch = machine.torch
    a, b, c = machine.random(77), machine.random(77), machine.zeros(77)
    kernel, graph = machine.compile(kernels.add(64)), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
    graph.replay()
    machine.synchronize()
    close(c, a + b, 0)


def several_devices(machine: Machine) -> None:
    """One kernel on every device, while device 0 is the current one."""
    machine.needs_device()
    torch, kernel = machine.torch, machine.compile(kernels.add())
    count = torch.cuda.device_count()
    if count < 2:
        raise Skipped("there is one device")
    for index in range(count):
        a, b, c = machine.random(500, index=index), machine.random(500, index=index), machine.zeros(500, index=index)
        kernel(a, b, c)
        torch.cuda.synchronize(index)
        close(c, a + b, 0)
    if torch.cuda.current_device() != 0:
        raise AssertionError(f"the current device is {torch.cuda.current_device()} now")


CHECKS: tuple[Callable[[Machine], None], ...] = (
    checks.addition, checks.shared_memory, checks.reductions, checks.atomics, checks.products_of_float16,
    checks.products_of_bfloat16, checks.products_of_float32, checks.attention, checks.wrong_tensors, checks.grids,
    too_large_grids, checks.prints, streams, graphs, loading_inside_a_capture, several_devices, checks.timing,
    checks.assertions,
)  # fmt: skip
