"""Checks of what only a card can show: results of kernels, streams, graphs, several devices, prints, failures.

Each check is a function of a Machine that raises where something is wrong, or Skipped where it cannot run.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

from tile_hip.first_run import kernels
from tile_hip.first_run.machine import Machine, Skipped, close
from tilecore.errors import LaunchError, UnsupportedError


def addition(machine: Machine) -> None:
    """C = A + B of several lengths."""
    kernel = machine.compile(kernels.add())
    for length in (1, 255, 10_000):
        a, b, c = machine.random(length), machine.random(length), machine.zeros(length)
        kernel(a, b, c)
        close(c, a + b, 0)


def local_memory(machine: Machine) -> None:
    """LDS of 1, 32 and 60 KiB."""
    for size in (256, 8192, 15 * 1024):
        x, y = machine.random(size), machine.zeros(size)
        machine.compile(kernels.reverse(size))(x, y)
        close(y, x.flip(0), 0)


def reductions(machine: Machine) -> None:
    """Softmax of rows: maxima and sums over all lanes of a block."""
    for columns in (64, 1000, 4096):
        x, y = machine.random(4, columns), machine.zeros(4, columns)
        machine.compile(kernels.softmax(4, columns))(x, y)
        close(y, machine.torch.softmax(x.double(), 1), 1e-5)


def atomics(machine: Machine) -> None:
    """Every thread of 64 blocks adds 1 to one number."""
    x = machine.zeros(1, dtype="int32")
    machine.compile(kernels.count_up(64))(x)
    found = x.item()
    if found != 64 * 256:
        raise AssertionError(f"the sum is {found}, and {64 * 256} threads added 1")


def product(machine: Machine, dtype: str) -> None:
    size = 64 if machine.is_simulated else 256
    a, b, c = (machine.random(size, size, dtype=dtype) for _ in range(3))
    machine.compile(kernels.gemm(size, size, size, dtype, 64, 64, 32))(a, b, c)
    close(c, a.float() @ b.float(), {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5}[dtype])


def products_of_float16(machine: Machine) -> None:
    """A product of 256 x 256 x 256."""
    product(machine, "float16")


def products_of_bfloat16(machine: Machine) -> None:
    """A product of 256 x 256 x 256."""
    product(machine, "bfloat16")


def products_of_float32(machine: Machine) -> None:
    """A product of 256 x 256 x 256."""
    product(machine, "float32")


def attention(machine: Machine) -> None:
    """Attention forward in float16 beside scaled_dot_product_attention in float32."""
    shape = (1, 1, 64, 32) if machine.is_simulated else (1, 2, 256, 64)
    q, k, v, out = (machine.random(*shape, dtype="float16") for _ in range(4))
    machine.compile(kernels.attention(*shape, "float16"))(q, k, v, out)
    expected = machine.torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    close(out, expected, 5e-3)


def prints(machine: Machine) -> None:
    """T.print from two blocks."""
    kernel, x = machine.compile(kernels.talks()), machine.zeros(2, dtype="int32")
    x[0], x[1] = 5, -7
    if machine.is_simulated:
        raise Skipped("the simulated device prints by C's printf")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        kernel(x)
    lines = sorted(text.getvalue().splitlines())
    if lines != ["block: -7", "block: 5"]:
        raise AssertionError(f"the kernel printed {lines}")


def assertions(machine: Machine) -> None:
    """A failed T.device_assert is an error of its launch, and the next launch is right."""
    kernel = machine.compile(kernels.asserts())
    x, y = machine.zeros(64, dtype="int32"), machine.zeros(64, dtype="int32")
    x[37] = 95
    try:
        kernel(x, y)
        machine.synchronize()
    except LaunchError as error:
        if "too large" not in str(error):
            raise
    else:
        raise AssertionError("the launch did not fail")
    x[37] = 1
    kernel(x, y)
    close(y, x + 1, 0)


def grids(machine: Machine) -> None:
    """A grid of 2^20 blocks runs; one of 2^32 threads is refused with an error."""
    machine.needs_gpu()
    kernel, x = machine.compile(kernels.many_blocks()), machine.zeros(1, dtype="int32")
    kernel(x, 2**20)
    if x.item() != 1:
        raise AssertionError("the kernel wrote nothing")
    try:
        kernel(x, 2**22)
    except LaunchError as error:
        if "the grid is too large" not in str(error):
            raise
    else:
        raise AssertionError("the launch did not fail")


def streams(machine: Machine) -> None:
    """Kernels run on torch's current stream, behind its other work."""
    machine.needs_gpu()
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
    machine.needs_gpu()
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
    machine.needs_gpu()
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
    machine.needs_gpu()
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


def wrong_tensors(machine: Machine) -> None:
    """A tensor of the host is refused with an error."""
    machine.needs_gpu()
    from tilecore.errors import ArgumentError

    kernel, a = machine.compile(kernels.add()), machine.random(10)
    try:
        kernel(a, a.cpu(), a)
    except ArgumentError:
        return
    raise AssertionError("the launch did not fail")


def timing(machine: Machine) -> None:
    """The profiler's events measure some time."""
    machine.needs_gpu()
    kernel = machine.compile(kernels.add())
    a, b, c = machine.random(1 << 20), machine.random(1 << 20), machine.zeros(1 << 20)
    found = kernel.get_profiler().do_bench(input_tensors=[a, b, c])
    if not 1e-4 < found < 100:
        raise AssertionError(f"the profiler measured {found} ms for an addition of a million numbers")


CHECKS: tuple[Callable[[Machine], None], ...] = (
    addition, local_memory, reductions, atomics, products_of_float16, products_of_bfloat16, products_of_float32,
    attention, wrong_tensors, grids, prints, streams, graphs, loading_inside_a_capture, several_devices, timing,
    assertions,
)  # fmt: skip


def run(machine: Machine, check: Callable[[Machine], None]) -> tuple[str, str]:
    """("ok", "skipped" or "failed", the reason) of a check."""
    try:
        _ = machine.torch  # every check makes tensors with it
        check(machine)
    except (Skipped, UnsupportedError) as reason:
        return "skipped", str(reason)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "ok", ""
