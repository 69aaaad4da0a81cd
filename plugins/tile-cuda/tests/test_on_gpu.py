"""What only a GPU can show: streams, graphs, several devices, launch attributes, tensor maps, failures, every execution
backend. Skipped where there is none; neither TVM nor the tile language is needed.

    python -m pytest plugins/tile-cuda/tests/test_on_gpu.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_kernels import ADD, BLOCKS, N, kernel
from tile_cuda.adapter import NAMES, DriverAdapter
from tile_cuda.launch.module import describe
from tile_cuda.launch.tensor_maps import TensorMap

from tilecore.artifact.records import ScalarParam, TensorParam
from tilecore.errors import ArgumentError, LaunchError
from tilecore.target import Target

SIZE = 1000


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch")
    present = DriverAdapter().available(Target("cuda", {}))
    if not present.present or not module.cuda.is_available():
        pytest.skip(f"no GPU that torch can use: {present.detail}")
    return module


def needs(torch, capability: tuple[int, int], feature: str) -> None:
    if torch.cuda.get_device_capability() < capability:
        pytest.skip(f"{feature} needs compute capability {capability[0]}.{capability[1]}")


def pair(torch, device="cuda", size=SIZE):
    return torch.randn(size, device=device), torch.zeros(size, device=device)


# -- execution backends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", NAMES)
def test_every_execution_backend(torch, adapter):
    a, b = pair(torch)
    kernel(adapter=adapter)(a, b, 2.5)
    torch.testing.assert_close(b, a + 2.5)


class OnlyDlpack:
    """A tensor that offers nothing but DLPack's Python protocol."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_tensors_of_other_libraries(torch):
    a, b = pair(torch)
    kernel(adapter="dlpack")(OnlyDlpack(a), OnlyDlpack(b), 1.0)
    torch.cuda.synchronize()
    torch.testing.assert_close(b, a + 1)


def test_the_launch_in_python_does_the_same(torch, monkeypatch):
    from tile_cuda import launch

    from tilecore.runtime import device_launch, launcher_py

    monkeypatch.setattr(launch, "_native", None)
    monkeypatch.setattr(device_launch, "_native", None)
    artifact_kernel = kernel()
    plain = launcher_py.Launcher(artifact_kernel.artifact, artifact_kernel.loaded, artifact_kernel.adapter, 2)
    a, b = pair(torch)
    plain(a, b, 3.0)
    torch.testing.assert_close(b, a + 3)


# -- streams, graphs, devices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [False, True])
def test_the_current_stream(torch, other):
    """The launch sees earlier work on the stream, and the call does not wait."""
    run = kernel()
    a, b = pair(torch)
    wrapped = (OnlyDlpack(a), OnlyDlpack(b)) if other else (a, b)
    run(*wrapped, 0.0)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        a.fill_(5)
        run(*wrapped, 1.0)
        assert not side.query(), "the call waited for the stream"
    torch.cuda.default_stream().synchronize()
    assert not bool(side.query()), "the launch was not on the stream"
    side.synchronize()
    assert bool((b == 6).all())


def test_a_graph(torch):
    """Captured at the kernel's first launch, which loads it; replayed with other values."""
    run = kernel(ADD + "// of the graph\n")
    a, b = pair(torch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(a, b, 1.0)
        run(b, a, 1.0)
    a.fill_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert float(b[0]) == 2.0
    assert float(a[-1]) == 3.0


def two_devices(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")


def test_tensors_on_the_second_device(torch):
    two_devices(torch)
    run = kernel()
    for index in (1, 0, 1):
        a, b = pair(torch, f"cuda:{index}")
        run(a, b, 1.5)
        torch.testing.assert_close(b, a + 1.5)
    assert torch.cuda.current_device() == 0


def test_a_stream_of_the_second_device(torch):
    two_devices(torch)
    run = kernel()
    a, b = pair(torch, "cuda:1")
    with torch.cuda.stream(torch.cuda.Stream("cuda:1")):
        torch.cuda._sleep(50_000_000)
        a.fill_(2)
        run(a, b, 1.0)
    torch.cuda.synchronize("cuda:1")
    assert bool((b == 3).all())


def test_tensors_on_two_devices(torch):
    two_devices(torch)
    a, _ = pair(torch, "cuda:0")
    _, b = pair(torch, "cuda:1")
    with pytest.raises(ArgumentError, match=r"A is on .*0 but B is on .*1"):
        kernel()(a, b, 1.0)


def test_a_tensor_of_the_host(torch):
    a, _ = pair(torch)
    with pytest.raises(ArgumentError, match="B is on the wrong device"):
        kernel()(a, torch.zeros(SIZE), 1.0)


def test_events_time_the_device(torch):
    run = kernel()
    a, b = pair(torch)
    timer = run.adapter.timer(0)
    timer.start()
    torch.cuda._sleep(100_000_000)
    run(a, b, 1.0)
    timer.stop()
    assert 5.0 < timer.elapsed() < 1000.0


# -- launch attributes ----------------------------------------------------------------------------------------------

CLUSTER = """#include "tilecore_cuda.h"
extern "C" __global__ void BOUNDS cluster_kernel(int* R) {
  unsigned rank, all;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(all));
  if (threadIdx.x == 0) R[blockIdx.x] = int(all * 100 + rank);
}
"""
RANKS = (TensorParam("R", "int32", (16,), access="w", align=4),)


@pytest.mark.parametrize("bounds", ["", "__cluster_dims__(4, 1, 1)"])
def test_clusters(torch, bounds):
    """The cluster size is defined by the launch, or by the code."""
    needs(torch, (9, 0), "a cluster")
    run = kernel(
        CLUSTER.replace("BOUNDS", bounds), "cluster_kernel", params=RANKS, grid=(16, 1, 1),
        attributes={"cluster": [4, 1, 1]},
    )  # fmt: skip
    ranks = torch.zeros(16, dtype=torch.int32, device="cuda")
    run(ranks)
    assert ranks.tolist() == [400, 401, 402, 403] * 4


def test_a_cluster_of_sixteen(torch):
    needs(torch, (9, 0), "a cluster")
    run = kernel(
        CLUSTER.replace("BOUNDS", ""), "cluster_kernel", params=RANKS, grid=(16, 1, 1),
        attributes={"cluster": [16, 1, 1]},
    )  # fmt: skip
    ranks = torch.zeros(16, dtype=torch.int32, device="cuda")
    run(ranks)
    assert ranks.tolist() == [1600 + i for i in range(16)]


@pytest.mark.parametrize("attributes", [
    {"l2_window": [0, {"expr": ["*", "n", 4]}, 0.5]}, {"programmatic": True}, {"carveout": 50}, {"cooperative": True},
    {"l2_window": [0, 1 << 40, 1.0], "programmatic": True, "carveout": 100},
])  # fmt: skip
def test_other_attributes(torch, attributes):
    if "programmatic" in attributes:
        needs(torch, (9, 0), "a programmatic launch")
    needs(torch, (8, 0), "a window of L2")
    run = kernel(attributes=attributes)
    a, b = pair(torch, size=1 << 20 if "cooperative" not in attributes else SIZE)
    for _ in range(3):
        run(a, b, 2.0)
    torch.testing.assert_close(b, a + 2)


def test_large_shared_memory(torch):
    source = ADD.replace("  const int i", "  TC_SHARED(shared);\n  shared[threadIdx.x + n] = 1;\n  const int i")
    run = kernel(source, shared_bytes=64 << 10 if torch.cuda.get_device_capability() == (7, 5) else 96 << 10)
    a, b = pair(torch)
    run(a, b, 2.0)
    torch.testing.assert_close(b, a + 2)


def test_registers_are_known(torch):
    launchable = kernel()
    facts = describe(launchable.loaded.owner[1], 0)["add_kernel"]
    assert 8 <= facts["registers"] <= 32
    assert facts["local_bytes"] == 0


FAILING = """
import torch, tilecore, tilecore.language as T

@T.prim_func
def kernel(A: T.Tensor((64,), "int32")):
    with T.Kernel(1):
        for i in T.Parallel(64):
            T.device_assert(A[i] < 60, "too large")

built = tilecore.compile(kernel, target="cuda")
built(torch.zeros(64, dtype=torch.int32, device="cuda"))
torch.cuda.synchronize()
print("right", flush=True)
try:
    built(torch.arange(64, dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()
except RuntimeError:
    print("failed", flush=True)
"""


def test_a_failed_assertion(torch, tmp_path):
    """It ends the work of its process on the device; the error names the assertion."""
    pytest.importorskip("tvm")
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    process = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert "right" in process.stdout, process.stderr
    assert "failed" in process.stdout
    assert "device assertion" in process.stdout
    assert "too large" in process.stdout


# -- tensor maps ----------------------------------------------------------------------------------------------------

# One box of 32 rows by 32 columns, from (y, x) of A, as it lies in shared memory.
BOX = """#include "tilecore_cuda.h"
extern "C" __global__ void box_kernel(const float* A, float* B, int x, int y,
                                      const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  void* barrier = shared + 4096;
  if (threadIdx.x == 0) {
    tc_transaction_init(barrier, 1);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (threadIdx.x == 0) {
    tc_transaction_arrive_expect(barrier, 4096);
    tc_tensor_load(shared, &map, barrier, x, y);
  }
  tc_transaction_wait(barrier, 0);
  for (int i = threadIdx.x; i < 1024; i += 128) B[i] = ((float*)shared)[i];
}
"""


def box_kernel(rows, columns, swizzle):
    tensor_map = TensorMap(0, "float32", (columns, rows), (4 * columns,), (32, 32), swizzle=swizzle, name="A")
    params = (
        TensorParam("A", "float32", (rows, columns), access="r"),
        TensorParam("B", "float32", (32, 32), access="w", align=16),
        ScalarParam("x", "int32"),
        ScalarParam("y", "int32"),
    )
    return kernel(
        BOX, "box_kernel", params=params, grid=(1, 1, 1), shared_bytes=4096 + 16,
        attributes={"tensor_maps": [tensor_map.to_json()]},
    )  # fmt: skip


@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_tensor_maps(torch, swizzle):
    """Boxes inside, over the edges (zeros), of several tensors. Swizzled, chunk c of row r lies at c ^ r % 8."""
    needs(torch, (9, 0), "a tensor copy")
    run = box_kernel(100, 60, swizzle)
    for seed, (x, y) in enumerate([(0, 0), (16, 40), (40, 90), (-8, -3), (200, 0), (16, 40)]):
        torch.manual_seed(seed)
        a, b = torch.randn(100, 60, device="cuda"), torch.zeros(32, 32, device="cuda")
        run(a, b, x, y)
        expected = torch.zeros(32, 32, device="cuda")
        for i in range(32):
            for j in range(32):
                if 0 <= y + i < 100 and 0 <= x + j < 60:
                    at = ((j // 4) ^ (i % 8 if swizzle == "128B" else 0)) * 4 + j % 4
                    expected[i, at] = a[y + i, x + j]
        assert torch.equal(b, expected), (x, y)


def test_a_misaligned_tensor_has_no_map(torch):
    needs(torch, (9, 0), "a tensor copy")
    run = box_kernel(100, 60, "none")
    memory = torch.zeros(6001, device="cuda")
    with pytest.raises(LaunchError, match=r"no tensor map can describe A: its address is 0x\w+4, must be a multiple"):
        run(memory[1:].view(100, 60), torch.zeros(32, 32, device="cuda"), 0, 0)


# -- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"threads": (2048, 1, 1)}, "2048 threads in a block, and the limit is 1024"),
        ({"shared_bytes": 300_000}, "add_kernel needs 300000 bytes of shared memory"),
        ({"shared_bytes": (1 << 20), "threads": (1, 1, 1)}, "1048576 bytes"),
        ({"grid": (1, 70000, 1)}, "the grid is too large"),
    ],
)
def test_limits(torch, entry, words):
    a, b = pair(torch)
    with pytest.raises(LaunchError, match=words) as caught:
        kernel(**entry)(a, b, 1.0)
    assert "add_kernel" in str(caught.value)
    run = kernel()
    run(a, b, 1.0)  # nothing is left behind
    torch.testing.assert_close(b, a + 1)


def test_more_threads_than_the_code_was_compiled_for(torch):
    bounded = ADD.replace("void add_kernel", "void __launch_bounds__(64) add_kernel")
    with pytest.raises(LaunchError, match=r"512 threads in a block, and with .* registers each at most 64 fit"):
        kernel(bounded, threads=(512, 1, 1))(*pair(torch), 1.0)


def test_more_blocks_than_wait_for_each_other(torch):
    with pytest.raises(LaunchError, match="blocks of 128 threads run at once") as caught:
        kernel(attributes={"cooperative": True})(*pair(torch, size=1 << 24), 1.0)
    assert "fewer blocks" in str(caught.value)


def test_code_of_another_gpu(torch):
    other = "sm_75" if torch.cuda.get_device_capability() != (7, 5) else "sm_80"
    with pytest.raises(LaunchError, match="compiled for another GPU") as caught:
        kernel(arch=other)(*pair(torch), 1.0)
    assert "-arch=sm_" in str(caught.value)


DYING = """
import sys
sys.path.insert(0, {tests!r})
import torch
from gpu_kernels import ADD, kernel
from tilecore.errors import LaunchError
source = ADD.replace("B[i] = A[i] + s;", {statement!r})
run = kernel(source)
a, b = torch.zeros(1000, device="cuda"), torch.zeros(1000, device="cuda")
run(a, b, 1.0)
for late in (lambda: run.adapter.synchronize(0), lambda: run(a, b, 1.0)):
    try:
        late()
        print("NOTHING")
    except LaunchError as error:
        print(str(error).replace(chr(10), " "))
"""


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("*(float*)(8ull << 40) = s;", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("*(double*)((char*)B + 4) = s;", "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("__trap();", "CUDA_ERROR_LAUNCH_FAILED|CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    ],
)
def test_failures_that_show_late(torch, statement, name):
    """In another process, as the context does not survive them. The synchronization and the next call report them."""
    import re

    code = DYING.format(tests=os.fspath(Path(__file__).parent), statement=statement)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    waited, called = ended.stdout.strip().splitlines()
    assert re.search(f"a kernel failed on device 0: .*({name})", waited), ended.stdout + ended.stderr
    assert re.search(f"add failed: add_kernel: ({name}).*grid", called), ended.stdout + ended.stderr
    assert "sim" in waited
    assert "an earlier kernel may be the cause" in called


def test_many_threads_of_python(torch):
    """Launches from several threads at once, each on a stream of its own."""
    import threading

    run, wrong = kernel(), []

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            a, b = pair(torch)
            for step in range(200):
                run(a, b, float(step))
            torch.cuda.current_stream().synchronize()
            if not torch.equal(b, a + 199.0):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_symbolic_sizes(torch):
    run = kernel(grid=(BLOCKS, 1, 1))
    assert N.names() == {"n"}
    for size in (1, 127, 128, 129, 100_000, 0):
        a, b = pair(torch, size=size)
        run(a, b, 1.0)
        torch.testing.assert_close(b, a + 1)
