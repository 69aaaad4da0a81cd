"""Commands are asynchronous: the control core needs a tpu_poll() before it accesses memory that they access."""

from __future__ import annotations

import numpy as np
import pytest
from test_tpu_rules import LINE, LOAD, run
from tile_tpu.include import FOLDER
from tile_tpu.simulate import SimulatedTpu, Tensor, TpuSimulationError, compile_kernel

import tilecore
import tilecore.language as T

POLL = " tpu_poll(); "
HALF = "*(short*)tpu_local_mem_addr_unified({})"
TENSOR = "short* t = (short*)tpu_global_mem_addr(q->{0}); tpu_{1}_cache(q->{0}, 64);"
STORE = " tpu_gdma_cpy_L2S(q->b, X, &s, NULL, NULL, DT_FP16);"

# (what commands do, what the control core does then, words)
PLANTED = {
    "read-local": (LOAD, "(void)" + HALF.format("X") + ";", "looks at what tpu_gdma_cpy_S2L in line 7 writes"),
    "read-other-lane": (LOAD, "(void)" + HALF.format("5 * lane + Y + 6") + ";", "local memory, lane 5, byte 16390"),
    "write-local": (LOAD, HALF.format("X + 32") + " = 1;", "looks at what tpu_gdma_cpy_S2L in line 7 writes"),
    "write-what-is-stored": (
        LOAD + POLL + STORE, HALF.format("3 * lane + X + 8") + " = 77;", "writes what tpu_gdma_cpy_L2S in line 7 reads",
    ),
    "copy-into-what-is-stored": (
        LOAD + POLL + STORE, f"{HALF.format('X + 8')} = {HALF.format('X + 10')};", "lane 0, byte 8",
    ),
    "read-tensor": (LOAD + STORE, TENSOR.format("b", "invalidate"), "reads what tpu_gdma_cpy_L2S in line 7 writes"),
    "write-tensor": (LOAD, "tpu_flush_cache(q->a, 64);", "has written what tpu_gdma_cpy_S2L in line 7 reads"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name):
    commands, control, words = PLANTED[name]
    with pytest.raises(TpuSimulationError) as caught:
        run(f"{commands} {control}")
    error = caught.value
    assert (error.kind, error.line, error.user_line) == ("hazard", LINE, "kernel.py:77"), error
    assert words in str(error)
    assert "tpu_poll() between them" in str(error)
    run(f"{commands} {POLL} {control}")


@pytest.mark.parametrize(
    "body",
    [
        LOAD + "(void)" + HALF.format("W") + ";",  # memory of nobody
        "tpu_gdma_cpy_S2L(X, q->a, &one_row, NULL, NULL, DT_FP16); (void)" + HALF.format("lane + X") + ";",
        LOAD + POLL + STORE + "(void)" + HALF.format("X") + ";",  # both read
        LOAD + TENSOR.format("a", "invalidate"),
        LOAD + STORE + TENSOR.format("c", "invalidate"),
    ],
)
def test_accesses_that_need_no_poll(body):
    run(body)


@T.prim_func
def summed(X: T.Tensor((64, 40), "float32"), R: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_shared((64, 40), "float32")
        T.copy(X, tile)
        for i, j in T.Parallel(64, 40):
            tile[i, j] = tile[i, j] * 2
        for i in T.serial(4):
            Y[i] = tile[R[i], 3]


def test_a_kernel_without_its_polls():
    """Each poll that the compiler inserts between commands and the control core is needed."""
    kernel = tilecore.compile(summed, target="tpu", execution_backend="sim")
    source, symbol = kernel.get_kernel_source(), kernel.artifact.entries[0].symbol
    x, index, y = (
        np.arange(2560, dtype=np.float32).reshape(64, 40),
        np.array([3, 0, 63, 9], np.int32),
        np.zeros(4, "f4"),
    )
    arguments = [Tensor.of("X", x, "r"), Tensor.of("R", index, "r"), Tensor.of("Y", y, "w")]
    SimulatedTpu().run(compile_kernel(source, include=[FOLDER]), symbol, arguments)
    assert y.tolist() == [2.0 * x[i, 3] for i in index]
    lines = source.splitlines(keepends=True)
    polls = [i for i, line in enumerate(lines) if line.strip() == "tpu_poll();"]
    assert len(polls) > 1
    for number in polls[:-1]:  # the last one ends the kernel
        broken = "".join(lines[:number] + lines[number + 1 :])
        with pytest.raises(TpuSimulationError, match="has not waited for it") as caught:
            SimulatedTpu().run(compile_kernel(broken, include=[FOLDER]), symbol, arguments)
        assert caught.value.kind == "hazard"
        assert "test_missing_polls.py" in (caught.value.user_line or "")
