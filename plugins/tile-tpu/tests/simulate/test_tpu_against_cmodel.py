"""The simulator compared with the vendor's CModel of BM1690: the same C and inputs give equal bits where both are
exact."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import tpu_cases as cases
import tpu_kernels as kernels
from test_tpu_functions import launched
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import KernelLibrary, kernel_library
from tile_tpu.runtimes.records import Block, Launch, Pointer
from tile_tpu.toolchain.compile import for_cmodel

from tilecore.errors import LaunchError, ToolchainError

pytestmark = pytest.mark.rotated

_ADDRESSES = 6  # of a kernel's struct, before its numbers


@pytest.fixture(scope="module")
def device():
    try:
        cmodel = CModelDevice(BM1690)
    except ToolchainError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    yield cmodel
    pool.close_all()


@pytest.fixture(scope="module")
def vendor_library(device) -> KernelLibrary:
    source = kernels.source()
    return kernel_library("cases", for_cmodel(source, BM1690, "cases", files=device.files), source)


def on_cmodel(case: cases.Case, device: CModelDevice, library: KernelLibrary) -> list[np.ndarray]:
    arrays = [array.copy() for array in case.arrays]
    blocks = [Block(f"array {i}", a.ctypes.data, a.nbytes, True, True) for i, a in enumerate(arrays)]
    numbers = b"".join(bytes(value) for value in kernels.numbers(case.p, case.f))
    pointers = [Pointer(8 * i, i, 0) for i in range(len(arrays))]
    launch = Launch(
        f"run_{case.entry}", struct.pack(f"{_ADDRESSES}Q", *[0] * _ADDRESSES) + numbers, pointers, case.blocks
    )
    device.run(library, blocks, [launch])
    return arrays


def difference(case: cases.Case, theirs: list[np.ndarray], ours: list[np.ndarray]) -> str:
    differences = [
        f"{case.name}: {text}"
        for place in case.expected
        if (text := cases.agree(ours[place], theirs[place], *case.cmodel))
    ]
    return "\n".join(differences)


@pytest.mark.parametrize("make", cases.FAMILIES, ids=lambda make: make.__name__)
def test_same_results(make, kernels_library, device, vendor_library):
    wrong = []
    for case in cases.family(make):
        try:
            theirs = on_cmodel(case, device, vendor_library)
        except LaunchError as error:
            wrong.append(f"{case.name}: {error}")
            continue
        wrong += [text] if (text := difference(case, theirs, launched(case, kernels_library))) else []
    assert not wrong, "\n".join(wrong)
