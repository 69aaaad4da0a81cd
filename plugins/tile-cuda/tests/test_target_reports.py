"""Target reports (``tilecore explain --targets``) for CUDA: kernels are compiled to source, without a device."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import tilecore.language as T
from tilecore.cli import main
from tilecore.compiler import CompileOptions, lower
from tilecore.errors import LimitError
from tilecore.plugins import manager
from tilecore.target_report.kernels import Kernel
from tilecore.target_report.run import report_on_targets
from tilecore.target_report.targets import targets_of

pytestmark = pytest.mark.usefixtures("installed")
REPOSITORY = Path(__file__).parents[3]
ARCHITECTURES = ("sm_75", "sm_80", "sm_90a")


def matmul(stages=2, dtype="float16", size=1000):
    square = (size, size)

    @T.prim_func
    def kernel(A: T.Tensor(square, dtype), B: T.Tensor(square, dtype), C: T.Tensor(square, dtype)):
        with T.Kernel(T.ceildiv(size, 128), T.ceildiv(size, 128), threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), dtype)
            B_shared = T.alloc_shared((32, 128), dtype)
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, 32), num_stages=stages):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    return kernel


@T.prim_func
def of_one_chip(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(2, threads=128, cluster_dims=(2, 1, 1)):
        tile = T.alloc_shared((64, 64), "float16")
        ready = T.alloc_barrier(1)
        T.tma_copy(A, tile, barrier=ready)
        T.mbarrier_wait_parity(ready, 0)
        T.copy(tile, B)


def verdicts_of(make, *targets, **choices):
    kernel = Kernel("kernel", lambda changes: make(**{**choices, **changes}).ir, choices=choices)
    return report_on_targets([kernel], targets_of(targets), __file__).verdicts


def fits(arch, stages, size):
    backend, target = manager.resolve(f"cuda -arch={arch}")
    try:
        lower(matmul(stages, size=size).ir, backend, target, CompileOptions())
    except LimitError as error:
        return error
    return None


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("size", [1000, 999])
def test_the_stages_that_an_error_offers_are_the_most_that_fit(arch, size):
    error = fits(arch, 30, size)
    assert error is not None
    offered = int(re.search(r"num_stages=(\d+) needs", error.hint)[1])
    assert fits(arch, offered, size) is None
    assert fits(arch, offered + 1, size) is not None
    assert Path(error.location.file) == Path(__file__)


def test_names_of_one_chip_on_others():
    calls = ["T.alloc_barrier", "T.tma_copy", "T.mbarrier_wait_parity"]
    host, older, newer = verdicts_of(lambda: of_one_chip, "cpu", "cuda -arch=sm_80", "cuda -arch=sm_90a")
    assert [error.message.split()[0] for error in host.refusals] == calls
    assert [error.message.split()[0] for error in older.refusals] == [*calls, "T.Kernel(cluster_dims=(2,"]
    assert newer.state == "ok"
    assert all(error.found and error.expected and error.hint for error in (*host.refusals, *older.refusals))


def test_what_makes_a_product_slow():
    odd, _ = verdicts_of(matmul, "cuda -arch=sm_90a", "cpu", size=999)
    assert odd.state == "slow"
    assert {remark.text.partition(":")[0] for remark in odd.remarks if remark.slow} >= {"A_shared", "B_shared"}
    (plain,) = verdicts_of(matmul, "cuda -arch=sm_80", dtype="float32", size=1024)
    assert [r.text for r in plain.remarks if r.slow and r.text.startswith("T.gemm as multiply-adds")]
    (good,) = verdicts_of(matmul, "cuda -arch=sm_90a", size=1024)
    assert good.state == "ok"


def test_the_change_that_fits():
    (verdict,) = verdicts_of(matmul, "cuda -arch=sm_80", stages=12)
    assert verdict.state == "refused"
    assert verdict.changes == ("stages=10",)


def test_the_page_shows_what_is_printed(monkeypatch, capsys):
    page = (REPOSITORY / "docs" / "explain.md").read_text()
    command, shown = re.search(
        r"```bash\n(tilecore explain \S+ --targets .*)\n```\n\n```text\n(.*?)\n```", page, re.S
    ).groups()
    monkeypatch.chdir(REPOSITORY)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == 1
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown.splitlines()
