"""Operations under torch's compilers and in several processes: Inductor, torch.export, AOTInductor, DDP.

These need minutes of the C++ compiler in all; each commit runs one half in CI.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

import pytest
from fresh_processes import output_of
from op_kernels import add_into, compiled, scaled, sum_and_difference

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.rotated,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++"))), reason="Inductor needs a C++ compiler"),
]
FOLDER = os.path.dirname(__file__)


class Program(torch.nn.Module):
    """All kinds of arguments and results between operations of torch."""

    def __init__(self):
        super().__init__()
        self.scaled, self.into = scaled(), compiled(add_into).torch_op("tilecore_tests::added")
        self.both = compiled(sum_and_difference, [2, 3]).torch_op("tilecore_tests::both")

    def forward(self, a):
        b = self.scaled(a.flatten() + 1, 2.0).reshape(a.shape) * 3
        c = torch.ones_like(a)
        self.into(b.T.contiguous().T.contiguous(), a.shape[1], c)
        total, difference = self.both(c.relu(), b)
        return total, difference[:8, : a.shape[1]] * 2


def expected(a):
    b = (a + 1) * 6
    c = 1 + b * a.shape[1]
    return c.relu() + b, ((c.relu() - b).half() * 2)


def check(program, sizes=(5, 64)):
    for size in sizes:
        a = torch.randn(8, size)
        for own, wanted in zip(program(a), expected(a), strict=True):
            torch.testing.assert_close(own, wanted)


def test_the_program_by_itself():
    check(Program())


@pytest.mark.parametrize("dynamic", [False, True])
def test_inductor(dynamic):
    check(torch.compile(Program(), fullgraph=True, dynamic=dynamic), (5, 64) if dynamic else (5,))


def test_inductor_differentiates():
    op = scaled()
    a = torch.randn(40, requires_grad=True)
    torch.compile(lambda x: (op(x * 2, 3.0) + 1).square().sum(), fullgraph=True)(a).backward()
    torch.testing.assert_close(a.grad, 2 * (6 * a.detach() + 1) * 6)


def exported():
    sizes = ({1: torch.export.Dim("n", min=2, max=1000)},)
    return torch.export.export(Program(), (torch.randn(8, 5),), dynamic_shapes=sizes)


def test_export():
    program = exported()
    targets = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert {"tilecore_tests.scaled.default", "tilecore_tests.both.default"} <= targets
    check(program.module())
    check(program.run_decompositions().module())


def test_an_exported_program_runs_in_another_process(tmp_path):
    torch.export.save(exported(), tmp_path / "program.pt2")
    script = textwrap.dedent(
        f"""
        import sys, torch
        sys.path.insert(0, {FOLDER!r})
        import test_op_compilers as ops
        ops.Program()  # defines the operations
        ops.check(torch.export.load(sys.argv[1]).module())
        print("right")
        """
    )
    assert output_of(script, tmp_path / "program.pt2", PYTHONPATH=_paths()).endswith("right\n")


def test_aot_inductor(tmp_path):
    package = torch._inductor.aoti_compile_and_package(exported(), package_path=str(tmp_path / "program.pt2"))
    check(torch._inductor.aoti_load_package(package))


def test_two_processes_of_ddp(tmp_path):
    script = textwrap.dedent(
        f"""
        import os, sys, torch
        import torch.distributed as dist
        import torch.multiprocessing as mp
        sys.path.insert(0, {FOLDER!r})
        import test_op_compilers as ops

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.arange(6.0))

            def forward(self, x):
                return ops.scaled()(self.weight * x, 2.0)

        def run(rank, path):
            dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
            model = torch.nn.parallel.DistributedDataParallel(Model())
            model(torch.full((6,), rank + 1.0)).sum().backward()
            assert model.module.weight.grad.tolist() == [3.0] * 6, model.module.weight.grad  # the mean of 2 and 4
            dist.destroy_process_group()

        if __name__ == "__main__":
            mp.spawn(run, (sys.argv[1],), nprocs=2)
            print("right")
        """
    )
    path = tmp_path / "ddp.py"
    path.write_text(script)
    run = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    assert output_of(run, path, tmp_path / "store", PYTHONPATH=_paths()).endswith("right\n")


def _paths() -> str:
    """Where a process of its own finds this file and what it imports."""
    return os.pathsep.join([FOLDER, os.path.dirname(os.path.dirname(FOLDER)), *filter(None, sys.path)])
