"""Kernels as operations of torch on a GPU: its checks, its compilers, CUDA graphs, gradients. Skipped without a GPU."""

from __future__ import annotations

import shutil

import pytest
from test_on_gpu import torch  # noqa: F401  (a fixture: skips without a GPU)

import tilecore
import tilecore.language as T

N = T.dynamic("n")
THREADS = 64
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compilers


@T.macro
def multiply(source, factor, target):
    with T.Kernel(T.ceildiv(N, THREADS), threads=THREADS) as block:
        for i in T.Parallel(THREADS):
            if block * THREADS + i < N:
                target[block * THREADS + i] = source[block * THREADS + i] * factor


@T.prim_func
def scale(A: T.Tensor((N,), "float32"), s: T.float32, B: T.Tensor((N,), "float32")):
    """B = A * s."""
    multiply(A, s, B)


@T.prim_func
def scale_gradient(dB: T.Tensor((N,), "float32"), s: T.float32, dA: T.Tensor((N,), "float32")):
    multiply(dB, s, dA)


@T.prim_func
def add_into(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
    """C += A."""
    with T.Kernel(T.ceildiv(N, THREADS), threads=THREADS) as block:
        for i in T.Parallel(THREADS):
            if block * THREADS + i < N:
                C[block * THREADS + i] += A[block * THREADS + i]


def compiled(func, out_idx=None):
    return tilecore.compile(func, target="cuda", out_idx=out_idx)


@pytest.fixture
def ops(torch):  # noqa: F811
    """The operations scale, with all rules, and add_into, which changes its argument."""
    scaled = compiled(scale, -1)
    op = scaled.torch_op("tilecore_gpu::scaled", backward=compiled(scale_gradient, -1), vmap="loop")
    return op, compiled(add_into).torch_op("tilecore_gpu::added")


def device():
    return compiled(scale, -1).adapter.torch_device()


def program(ops):
    scaled, added = ops

    def run(a):
        b = scaled(a.flatten() + 1, 2.0).reshape(a.shape) * 3
        c = b.flatten().relu()
        added(a.flatten().contiguous(), c)
        return c.reshape(a.shape), scaled(c, 0.5)

    return run


def expected(a):
    c = ((a + 1) * 6).relu() + a
    return c, c.flatten() / 2


def check(torch, run, sizes=(5, 64)):  # noqa: F811
    for size in sizes:
        a = torch.randn(8, size, device=device())
        for own, wanted in zip(run(a), expected(a), strict=True):
            torch.testing.assert_close(own, wanted)


def test_torch_finds_no_fault(torch, ops):  # noqa: F811
    a = torch.randn(100, device=device())
    torch.library.opcheck(torch.ops.tilecore_gpu.scaled.default, (a.clone().requires_grad_(), 3.0))
    torch.library.opcheck(torch.ops.tilecore_gpu.added.default, (a, a.clone()))


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_compiler_of_whole_programs(torch, ops, dynamic):  # noqa: F811
    run = torch.compile(program(ops), fullgraph=True, dynamic=dynamic)
    check(torch, run, (5, 64) if dynamic else (5,))


def test_graphs_of_launches(torch, ops):  # noqa: F811
    run = torch.compile(program(ops), fullgraph=True, mode="reduce-overhead")
    check(torch, run, (64,) * 5)  # warm-up, capture, replays with other numbers


def test_a_graph_that_the_user_captures(torch, ops):  # noqa: F811
    if torch.device(device()).type != "cuda":
        pytest.skip("needs a GPU")
    a, run = torch.randn(8, 64, device="cuda"), program(ops)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run(a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = run(a)
    for _ in range(3):
        a.normal_()
        graph.replay()
        for own, wanted in zip(results, expected(a), strict=True):
            torch.testing.assert_close(own, wanted)


def exported(torch, ops):  # noqa: F811
    class Program(torch.nn.Module):
        def forward(self, a):
            return program(ops)(a)

    sizes = ({1: torch.export.Dim("n", min=2, max=1000)},)
    return torch.export.export(Program(), (torch.randn(8, 5, device=device()),), dynamic_shapes=sizes)


def test_export(torch, ops):  # noqa: F811
    check(torch, exported(torch, ops).module())


@pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a C++ compiler")
def test_aot_inductor(torch, ops, tmp_path):  # noqa: F811
    package = torch._inductor.aoti_compile_and_package(exported(torch, ops), package_path=str(tmp_path / "program.pt2"))
    check(torch, torch._inductor.aoti_load_package(package))


def test_traced_graphs(torch, ops):  # noqa: F811
    from torch.fx.experimental.proxy_tensor import make_fx

    traced = make_fx(program(ops), tracing_mode="symbolic")(torch.randn(8, 5, device=device()))
    check(torch, traced)


def test_gradients_and_batches(torch, ops):  # noqa: F811
    scaled, _ = ops
    a = torch.randn(40, device=device(), requires_grad=True)
    torch.compile(lambda x: (scaled(x * 2, 3.0) + 1).square().sum(), fullgraph=True)(a).backward()
    torch.testing.assert_close(a.grad, 2 * (6 * a.detach() + 1) * 6)
    rows = torch.randn(3, 40, device=device())
    torch.testing.assert_close(torch.vmap(lambda row: scaled(row, 2.0))(rows), rows * 2)


def test_a_bare_kernel_is_refused_in_a_whole_program(torch):  # noqa: F811
    kernel = compiled(scale, -1)
    with pytest.raises(Exception, match="torch_op"):
        torch.compile(lambda a: kernel(a, 2.0), fullgraph=True)(torch.randn(8, device=device()))
