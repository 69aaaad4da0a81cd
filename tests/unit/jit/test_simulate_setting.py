"""TILECORE_SIMULATE sends kernels to the simulated device of their target, whatever execution backend they name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import TargetError
from tilecore.jit.request import ir_key, make_request
from tilecore.plugins import manager
from tilecore.simulate.device import SimulatedDevice
from tilecore.testing import null_backend


class Simulated(null_backend.NullAdapter):
    name = "sim"


@pytest.fixture
def target():
    """A target whose usual execution backend is "null", with a simulated device beside it."""
    facts = {name: getattr(null_backend, name) for name in dir(null_backend) if name.startswith("tilecore_")}
    real = facts["tilecore_adapters"]

    def tilecore_adapters():
        return [*real(), Simulated()]

    tilecore_adapters.__dict__.update(real.__dict__)  # the hook's mark
    with manager.register(SimpleNamespace(**{**facts, "tilecore_adapters": tilecore_adapters}), package="tile-both"):
        yield "null"


@T.prim_func
def fill(A: T.Tensor((8,), "int32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            A[i] = 1


@pytest.mark.parametrize("named", [None, "auto", "null", "sim"])
def test_every_kernel_runs_there(target, monkeypatch, named):
    usual = make_request(target=target, execution_backend=named).adapter
    assert usual == ("sim" if named == "sim" else "null")
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    assert make_request(target=target, execution_backend=named).adapter == "sim"
    monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", "null")
    assert make_request(target=target, execution_backend=named).adapter == "sim"


def test_targets_without_one_interpret(monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    for named in (None, "auto", "native", "sim"):
        assert make_request(target="cpu", execution_backend=named).adapter == "interpret"
    monkeypatch.delenv("TILECORE_SIMULATE")
    assert make_request(target="cpu").adapter == "native"
    with pytest.raises(TargetError, match="no execution backend 'sim'"):
        make_request(target="cpu", execution_backend="sim")


def test_kernels_of_the_device_and_simulated_ones_are_kept_apart(target, monkeypatch):
    usual = tilecore.compile(fill, target=target)
    key = ir_key(fill.ir, make_request(target=target))
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    simulated = tilecore.compile(fill, target=target)
    assert (usual.execution_backend, simulated.execution_backend) == ("null", "sim")
    assert ir_key(fill.ir, make_request(target=target)) != key
    monkeypatch.delenv("TILECORE_SIMULATE")
    assert tilecore.compile(fill, target=target) is usual


def test_the_seed_is_no_part_of_a_kernel(target, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    key = ir_key(fill.ir, make_request(target=target))
    monkeypatch.setenv("TILECORE_SIMULATE_SEED", "5")
    assert ir_key(fill.ir, make_request(target=target)) == key


def test_the_seed_orders_the_threads(monkeypatch):
    """Threads of one block that take numbers: the order is the seed's, the same whenever it is the same."""
    import numpy as np

    from tilecore.simulate.arguments import Tensor

    source = """#include "tilecore_sim.h"
extern "C" void take(int* next, int* taken) {
  taken[tc_sim_thread_index().x] = tc_atomic_add(next, 1);
}
"""
    device = SimulatedDevice()
    library = device.compile(source, ["take"])
    orders = []
    for seed in ("1", "2", "1", None, "0"):
        if seed is None:
            monkeypatch.delenv("TILECORE_SIMULATE_SEED")
        else:
            monkeypatch.setenv("TILECORE_SIMULATE_SEED", seed)
        first, numbers = np.zeros(1, np.int32), np.zeros(64, np.int32)
        arguments = [
            Tensor(name, array.ctypes.data, "int32", array.shape, "rw", None, 1)
            for name, array in (("next", first), ("taken", numbers))
        ]
        device.run(library, "take", (1,), (64,), arguments)
        orders.append(numbers.tolist())
    assert orders[0] == orders[2] != orders[1]
    assert orders[3] == orders[4]
