"""Checks of what only a device can show: results of kernels, grids, prints, assertions, failures.

Each check is a function of a Machine that raises where something is wrong, or Skipped where it cannot run. A backend
picks those that fit and adds its own.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

from tilecore.errors import ArgumentError, LaunchError, UnsupportedError
from tilecore.testing.first_run import kernels
from tilecore.testing.first_run.machine import Machine, Skipped, close


def addition(machine: Machine) -> None:
    """C = A + B of several lengths."""
    kernel = machine.compile(kernels.add())
    for length in (1, 255, 10_000):
        a, b, c = machine.random(length), machine.random(length), machine.zeros(length)
        kernel(a, b, c)
        close(c, a + b, 0)


def shared_memory(machine: Machine) -> None:
    """A tile of each of the machine's sizes in shared memory."""
    for size in (bytes // 4 for bytes in machine.shared_sizes):
        x, y = machine.random(size), machine.zeros(size)
        machine.compile(kernels.reverse(size))(x, y)
        close(y, x.flip(0), 0)


def reductions(machine: Machine) -> None:
    """Softmax of rows: maxima and sums over all lanes of a block."""
    for columns in (64, 1000, 4096):
        x, y = machine.random(4, columns), machine.zeros(4, columns)
        machine.compile(kernels.softmax(4, columns))(x, y)
        close(y, machine.torch.softmax(x.cpu().double(), 1), 1e-5)


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
    close(c, a.cpu().double() @ b.cpu().double(), {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5}[dtype])


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
    """Attention forward in float16 beside scaled_dot_product_attention in float64 on the host."""
    shape = (1, 1, 64, 32) if machine.is_simulated else (1, 2, 256, 64)
    q, k, v, out = (machine.random(*shape, dtype="float16") for _ in range(4))
    machine.compile(kernels.attention(*shape, "float16"))(q, k, v, out)
    expected = machine.torch.nn.functional.scaled_dot_product_attention(*(x.cpu().double() for x in (q, k, v)))
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
        machine.synchronize()
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
    """A grid of 2^20 blocks runs."""
    machine.needs_device()
    kernel, x = machine.compile(kernels.many_blocks()), machine.zeros(1, dtype="int32")
    kernel(x, 2**20)
    if x.item() != 1:
        raise AssertionError("the kernel wrote nothing")


def wrong_tensors(machine: Machine) -> None:
    """A tensor of the host is refused with an error."""
    machine.needs_device()
    kernel, a = machine.compile(kernels.add()), machine.random(10)
    try:
        kernel(a, a.cpu(), a)
    except ArgumentError:
        return
    raise AssertionError("the launch did not fail")


def timing(machine: Machine) -> None:
    """The profiler measures some time."""
    machine.needs_device()
    kernel = machine.compile(kernels.add())
    a, b, c = machine.random(1 << 20), machine.random(1 << 20), machine.zeros(1 << 20)
    found = kernel.get_profiler().do_bench(input_tensors=[a, b, c])
    if not 1e-4 < found < 100:
        raise AssertionError(f"the profiler measured {found} ms for an addition of a million numbers")


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
