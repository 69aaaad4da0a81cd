"""Checks of what only a Mac can show: launching as the core's checks do, the lanes of matrices, order, views."""

from __future__ import annotations

from collections.abc import Callable

from tile_metal.first_run.lane_layout import lane_layout
from tilecore.testing.first_run import checks, kernels
from tilecore.testing.first_run.machine import Machine, close


def tensors_of_the_host(machine: Machine) -> None:
    """They are refused with an error, or taken and written where the execution backend says that it takes them."""
    machine.needs_device()
    if not getattr(machine.adapter, "host_tensors", False):
        checks.wrong_tensors(machine)
        return
    a, b, c = (machine.random(1000).cpu() for _ in range(3))
    machine.compile(kernels.add())(a, b, c)
    close(c, a + b, 0)


def one_simdgroup(machine: Machine) -> None:
    """Threadgroups of 32 threads: Apple's compiler was seen to break barriers where it knows that there are no more."""
    for size in (32, 1000):
        x, y = machine.random(size), machine.zeros(size)
        machine.compile(kernels.reverse(size, 32))(x, y)
        close(y, x.flip(0), 0)


def infinities(machine: Machine) -> None:
    """Softmax of rows that are partly -inf, as masks make them: no fast mathematics."""
    x, y = machine.random(4, 1000), machine.zeros(4, 1000)
    x[:, ::3] = -float("inf")
    machine.compile(kernels.softmax(4, 1000))(x, y)
    close(y, machine.torch.softmax(x.cpu().double(), 1), 1e-5)


def views(machine: Machine) -> None:
    """Tensors that begin within the memory of others."""
    memory = machine.random(3000)
    before = memory.clone()
    machine.compile(kernels.add())(memory[4:904], memory[1024:1924], memory[2048:2948])
    close(memory[2048:2948], before[4:904] + before[1024:1924], 0)
    close(memory[:2048], before[:2048], 0)
    close(memory[2948:], before[2948:], 0)


def order(machine: Machine) -> None:
    """Kernels run behind the work that torch was given before, and before what it is given after."""
    length = 2000 if machine.is_simulated else 1 << 20
    kernel = machine.compile(kernels.add())
    a, b, c = machine.random(length), machine.random(length), machine.zeros(length)
    on_host = [a.cpu().clone(), b.cpu().clone()]
    for _ in range(5):
        for _ in range(20):
            a.add_(b)
        kernel(a, b, c)
        b.copy_(c).mul_(2**-5)
    for _ in range(5):
        for _ in range(20):
            on_host[0].add_(on_host[1])
        on_host[1] = (on_host[0] + on_host[1]) * 2**-5
    close(b, on_host[1], 1e-5)


CHECKS: tuple[Callable[[Machine], None], ...] = (
    lane_layout, checks.addition, checks.shared_memory, one_simdgroup, checks.reductions, infinities, checks.atomics,
    checks.products_of_float16, checks.products_of_bfloat16, checks.products_of_float32, checks.attention, views, order,
    tensors_of_the_host, checks.grids, checks.prints, checks.timing, checks.assertions,
)  # fmt: skip
