"""The vendor's CModels of all chips: results, failures, several processes at once. Skipped without the wheel."""

from __future__ import annotations

import glob
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_vendor import KERNELS, call, scale
from tile_tpu.chips import BM1690, CHIPS
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.toolchain.compile import for_cmodel
from tile_tpu.toolchain.search import find_cmodel

from tilecore.errors import LaunchError, ToolchainError

COMMANDS = r"""
#include <stdio.h>
#include "tpu_kernel.h"

typedef struct {
  unsigned long long x, out;
  int n;
  float scale;
} args_t;

static void load(local_addr_t to, unsigned long long x, int n) {
  dim4 shape = {1, 1, 1, n};
  tpu_gdma_cpy_S2L(to, x, &shape, NULL, NULL, DT_FP32);
}

int add_kernel(const void* arguments) {
  const args_t* args = arguments;
  tpu_initialize();
  int items = tpu_workitem_num() > 1 ? tpu_workitem_num() : 1, each = args->n / items;
  unsigned long long first = 4ull * each * tpu_workitem_index();
  dim4 shape = {1, 1, 1, each};
  scalar_t c = {.f32 = args->scale};
  load(0, args->x + first, each);
  tpu_bdc_fp_add_C(0x8000, 0, c, &shape, NULL, NULL, DT_FP32);
  tpu_gdma_cpy_L2S(args->out + first, 0x8000, &shape, NULL, NULL, DT_FP32);
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(add_kernel)

int lanes_kernel(const void* arguments) {
  const args_t* args = arguments;
  tpu_initialize();
  dim4 shape = {1, 1, 1, args->n};
  tpu_bdc_cpy(tpu_local_mem_size_per_npu(), 0, &shape, NULL, NULL, DT_FP32);  // model.py:33
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(lanes_kernel)

int assertion_kernel(const void* arguments) {
  const args_t* args = arguments;
  tpu_initialize();
  TPUKERNEL_ASSERT(args->n == 3);  // model.py:41
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(assertion_kernel)
"""


@pytest.fixture(params=[*CHIPS])
def chip(request):
    chip_record = CHIPS[request.param]
    try:
        find_cmodel(chip_record)
    except ToolchainError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return chip_record


@pytest.fixture
def device(chip):
    yield CModelDevice(chip)
    pool.close_all()


def library(chip, source=COMMANDS):
    return kernel_library("model", for_cmodel(source, chip, "model"), source)


def run_add(device, kernels, n=96, items=1):
    x, out = np.random.default_rng(n).standard_normal(n, np.float32), np.zeros(n, np.float32)
    blocks, launches = call("add_kernel", x, out, n, 1.5, items)
    device.run(kernels, blocks, launches)
    assert np.array_equal(out, x + np.float32(1.5))


def test_commands(device):
    kernels = library(device.chip)
    for n in (1, 33, 4000):
        run_add(device, kernels, n)
    run_add(device, kernels, 96, items=device.most_items)


def test_the_control_core(device):
    kernels = library(device.chip, KERNELS)
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    device.run(kernels, *scale(x, out, 3.0, device.most_items))
    assert np.array_equal(out, x * 3)


def test_the_output_of_a_kernel(device, capsys):
    kernels = library(device.chip, KERNELS)
    x = np.zeros(4, np.float32)
    device.run(kernels, *call("print_kernel", x, x.copy(), 0))
    assert capsys.readouterr() == ("a line of kernel 0\n", "")


def test_a_check_of_the_cmodel(device):
    x = np.zeros(64, np.float32)
    kernels = library(device.chip)
    with pytest.raises(LaunchError) as caught:
        device.run(kernels, *call("lanes_kernel", x, x.copy(), 16))
    report = str(caught.value)
    assert "tpu_bdc_cpy refuses its arguments" in report
    assert "does not hold" in report
    assert "launched lanes_kernel on 1 core" in report
    number = next(i for i, line in enumerate(COMMANDS.splitlines(), 1) if "model.py:33" in line)
    assert f"line {number}: tpu_bdc_cpy(" in report
    assert "from model.py:33" in report
    run_add(device, kernels)


def test_an_assertion_of_the_kernel(device):
    x = np.zeros(64, np.float32)
    with pytest.raises(LaunchError, match="assertion args->n == 3 does not hold") as caught:
        device.run(library(device.chip), *call("assertion_kernel", x, x.copy(), 16))
    assert "from model.py:41" in str(caught.value)


def test_an_assertion_with_words(device):
    x = np.zeros(64, np.float32)
    source = COMMANDS.replace(
        "TPUKERNEL_ASSERT(args->n == 3)", 'TPUKERNEL_ASSERT_INFO(args->n == 3, "%s", "three it is")'
    )
    with pytest.raises(LaunchError, match="an assertion of the kernel does not hold: three it is") as caught:
        device.run(library(device.chip, source), *call("assertion_kernel", x, x.copy(), 16))
    assert "from model.py:41" in str(caught.value)


def test_a_crash(device):
    x = np.zeros(64, np.float32)
    kernels = library(device.chip, KERNELS)
    for entry, words in (("crash_kernel", "ended by SIGSEGV"), ("divide_kernel", "ended by SIGFPE")):
        with pytest.raises(LaunchError, match=words) as caught:
            device.run(kernels, *call(entry, x, x.copy(), 0))
        assert "(from model.py:" in str(caught.value)


def test_a_hang(monkeypatch, device):
    x, kernels = np.zeros(64, np.float32), library(device.chip, KERNELS)
    device.run(kernels, *scale(x, x.copy(), 1.0))
    monkeypatch.setenv("TILECORE_SIMULATE_TIMEOUT", "1")
    with pytest.raises(LaunchError, match="took more than 1 s"):
        device.run(kernels, *call("hang_kernel", x, x.copy(), 16))


def test_the_return_value_of_a_kernel(device):
    if device.chip.runtime == "bmlib":
        pytest.skip("bmlib does not tell what a kernel returns")
    x = np.zeros(64, np.float32)
    with pytest.raises(LaunchError, match="it returned 7, not 0"):
        device.run(library(device.chip, KERNELS), *call("returns_kernel", x, x.copy(), 7))


def test_a_write_behind_a_tensor(device):
    x, kernels = np.ones(64, np.float32), library(device.chip, KERNELS)
    with pytest.raises(LaunchError, match="0 bytes behind the end of out"):
        device.run(kernels, *scale(x, x.copy(), 2.0, n=65))


def test_nothing_is_left_behind(device):
    run_add(device, library(device.chip))
    numbers = [slot.worker.pid for slot in pool._slots.values() if slot.worker is not None]
    assert numbers
    pool.close_all()
    for number in numbers:
        assert not Path(f"/proc/{number}").exists()
        assert not glob.glob(f"/tmp/{number}-*")


def test_sizes_go_up_and_down(device):
    """Calls of different sizes use one process and its memory. What a larger call has left is not reported as a write
    outside of tensors."""
    kernels = library(device.chip, KERNELS)
    sums = library(device.chip, KERNELS.replace("x[i] * args->scale", "x[i] + args->scale"))
    sizes = [10, 2_000_000, 10, 1, 70_000, 1023, 4_000_000, 1024, 300_000, 3]
    for number, n in enumerate(sizes):
        x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        built, expected = ((kernels, x * 3), (sums, x + 3))[number % 2]
        device.run(built, *scale(x, out, 3.0, device.most_items if number % 3 else 1))
        assert np.array_equal(out, expected), n


PROGRAM = """
import sys
sys.path[:0] = {path!r}
import test_vendor_cmodel as tests
from tile_tpu.chips import BM1690
from tile_tpu.cmodel.device import CModelDevice
device = CModelDevice(BM1690)
kernels = tests.library(BM1690)
for n in range(8, 80, 8):
    tests.run_add(device, kernels, n, 8)
print("all right")
"""


def test_several_processes_at_once():
    try:
        find_cmodel(BM1690)
    except ToolchainError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    folder = Path(__file__).parent
    program = PROGRAM.format(path=[str(folder), str(folder.parent / "vendor"), *sys.path])
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(4)
    ]
    for process in started:
        output, _ = process.communicate(timeout=300)
        assert output == "all right\n"


@pytest.mark.parametrize("chip", ["bm1690"], indirect=True)
def test_any_number_of_kernels(chip, device):
    """The CModel aborts when its table of kernels is full, so a process that is nearly full is replaced."""
    source = '#include "tpu_kernel.h"\nint none(const void *p) { tpu_initialize(); tpu_poll(); return 0; }\n'
    source += "TPUKERNEL_FUNC_REGISTER(none)\n"
    binary = for_cmodel(source, chip, "none")
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    for number in range(210):
        library = kernel_library("none", binary + number.to_bytes(2, "little"), source)
        device.run(library, *call("none", x, out, 0))
