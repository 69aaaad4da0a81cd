"""On a GPU, where there is one: what is held against numpy on the simulated device, held there too."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_artifacts import artifact
from matrix_cases import arrays, exact_result, kernel, least_architecture
from matrix_layouts import FRAGMENTS
from tile_cuda import toolchain
from tile_cuda.adapter import DriverAdapter
from tile_cuda.target import resolve

from tilecore.artifact.records import Entry, TensorParam
from tilecore.contract.records import BuildRequest
from tilecore.dtypes import canonical_name
from tilecore.dtypes import dtype as element_type
from tilecore.errors import ToolchainError
from tilecore.runtime.launcher import Launcher
from tilecore.target import Target

TARGET = resolve(Target("cuda", {"arch": "auto"}))


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch")
    present = DriverAdapter().available(TARGET)
    if not present.present or not module.cuda.is_available():
        pytest.skip(f"no GPU that torch can use: {present.detail}")
    return module


def run(torch, source: str, symbol: str, grid, threads, shared: int, **arrays: np.ndarray) -> dict[str, np.ndarray]:
    """As in test_simulated.py; returns what each tensor holds afterwards, as float64."""
    tensors, params = [], []
    for name, array in arrays.items():
        kind = canonical_name(array.dtype)
        wide = torch.from_numpy(np.ascontiguousarray(array).astype(np.float64))
        tensors.append(wide.to(element_type(kind).as_torch()).cuda())
        params.append(TensorParam(name, kind, array.shape, access="r" if name.isupper() else "w"))
    try:
        binary, _ = toolchain.build(BuildRequest(symbol, source, (symbol,), TARGET))
    except ToolchainError as error:
        if "no compiler" in error.message:
            pytest.skip(str(error))
        raise
    kernel = artifact(
        params=tuple(params), entries=(Entry(symbol, grid, threads, shared),), source=source, binary=binary,
        target=str(TARGET),
    )  # fmt: skip
    adapter = DriverAdapter()
    Launcher(kernel, adapter.load(kernel), adapter, 2)(*tensors)
    adapter.synchronize(0)
    return {name: t.cpu().to(torch.float64).numpy() for name, t in zip(arrays, tensors, strict=True)}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_matrix_instructions(torch, name):
    major, minor = torch.cuda.get_device_capability()
    if 10 * major + minor < least_architecture(name):
        pytest.skip(f"{name} is not on this GPU")
    operands = arrays(name)
    source = '#include "tilecore_cuda.h"\n\n' + kernel(name)
    results = run(torch, source, f"k_{name}", (1, 1, 1), (32, 1, 1), 0, **operands)
    np.testing.assert_array_equal(results["d_out"], exact_result(operands).astype(np.float64))


@pytest.mark.parametrize("case", ["block_sum", "pipelined_copy", "mma_tile"])
def test_kernels(torch, case):
    pytest.importorskip("tvm")
    import thread_kernels as kernels
    from tile_cuda import codegen

    rng = np.random.default_rng(1)
    source = codegen.build(getattr(kernels, case)(), str(TARGET))["source"]
    if case == "block_sum":
        a = rng.standard_normal(64 * 1024).astype(np.float32)
        result = run(torch, source, "sum_kernel", (64, 1, 1), (128, 1, 1), 16, A=a, s=np.zeros(64, np.float32))["s"]
        np.testing.assert_allclose(result, a.astype(np.float64).reshape(64, -1).sum(1), rtol=1e-4, atol=1e-4)
    elif case == "pipelined_copy":
        a = rng.standard_normal(2048).astype(np.float32)
        result = run(torch, source, "copy_kernel", (1, 1, 1), (64, 1, 1), 2048, A=a, b=np.zeros(2048, np.float32))["b"]
        np.testing.assert_array_equal(result, 2 * a.astype(np.float64))
    else:
        a, b = (rng.standard_normal(n).astype(np.float16) for n in (16 * 64, 64 * 8))
        result = run(torch, source, "mma_kernel", (1, 1, 1), (32, 1, 1), 3072, A=a, B=b, c=np.zeros(128, np.float32))[
            "c"
        ]
        expected = a.reshape(16, 64).astype(np.float64) @ b.reshape(64, 8).astype(np.float64)
        np.testing.assert_allclose(result.reshape(16, 8), expected, rtol=1e-3, atol=1e-3)
