"""Bundles of cubins: which devices each fits, and kernels that are compiled without a driver."""

from __future__ import annotations

import json

import pytest
from tile_cuda import nvcc, nvrtc
from tile_cuda.architectures import parse, runs_on

import tilecore
from tilecore.bundles.layers import best_of
from tilecore.cli import main
from tilecore.errors import LaunchError, ToolchainError
from tilecore.plugins import manager
from tilecore.target import Target

# compiled for, device, whether it runs there: "Binary Compatibility" in the CUDA C++ Programming Guide
PAIRS = [
    ("sm_80", "sm_80", True),
    ("sm_80", "sm_86", True),
    ("sm_80", "sm_89", True),
    ("sm_86", "sm_80", False),
    ("sm_80", "sm_90a", False),
    ("sm_90", "sm_90a", True),
    ("sm_90a", "sm_90a", True),
    ("sm_90a", "sm_100a", False),
    ("sm_100f", "sm_103a", True),
    ("sm_100", "sm_103a", True),
    ("sm_100a", "sm_103a", False),
    ("sm_100f", "sm_120a", False),
    ("sm_120", "sm_121a", True),
    ("sm_80", "sm_87", False),
    ("sm_87", "sm_87", True),
]


@pytest.mark.parametrize(("compiled_for", "device", "runs"), PAIRS)
def test_binary_compatibility(compiled_for, device, runs):
    assert (runs_on(parse(compiled_for), parse(device)) > 0) == runs


def fit(compiled_for, wanted):
    backend, resolved = manager.resolve(wanted)
    return backend.adapters["cython"].fit(manager.resolve(compiled_for)[1], resolved)


def test_the_nearest_is_the_best():
    ranks = [fit(f"cuda -arch={arch}", "cuda -arch=sm_90a") for arch in ("sm_80", "sm_90", "sm_90a")]
    assert ranks == sorted(ranks)
    assert ranks[0] == 0 < ranks[1] < ranks[2]
    assert fit("cuda -arch=sm_80", "cuda -arch=sm_89") < fit("cuda -arch=sm_86", "cuda -arch=sm_89")
    assert fit("cuda -arch=sm_90a -max_registers=64", "cuda -arch=sm_90a") == 0


KERNELS = """
import tilecore
import tilecore.language as T


@tilecore.jit(out_idx=-1)
def add(M, N, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=32) as row:
            for column in T.Parallel(N):
                C[row, column] = A[row, column] + B[row, column]

    return kernel


def tilecore_kernels():
    yield add, (16, 32)
"""


def compiler():
    for module in (nvrtc, nvcc):
        try:
            return module.load()
        except ToolchainError as error:
            reason = error.message
    pytest.skip(f"needs NVRTC or nvcc: {reason}")


def test_a_bundle_for_two_architectures(tmp_path, monkeypatch, capsys):
    """Compiled by NVRTC or nvcc, whichever is here; the cubins are for the architectures, and found by the device's."""
    if not {80, 90} <= set(compiler().architectures()):
        pytest.skip("the compiler lacks sm_80 or sm_90")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bundled_cuda.py").write_text(KERNELS)
    with pytest.raises(SystemExit) as ended:
        main(["compile", "bundled_cuda.py", "--target", "cuda -arch=sm_80,sm_90a", "-o", "kernels.tcb", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert [kernel["target"] for kernel in facts["kernels"]] == ["cuda -arch=sm_80", "cuda -arch=sm_90a"]
    bundle = tilecore.load_bundle(tmp_path / "kernels.tcb")
    architectures = []
    for record in bundle.kernels:
        artifact = bundle._file.artifact(record)
        assert artifact.binary[:4] == b"\x7fELF"
        architectures.append(Target.parse(artifact.target).get("arch"))
        assert record.machine == ""
    assert architectures == ["sm_80", "sm_90a"]
    for device, expected in (("sm_86", "sm_80"), ("sm_90a", "sm_90a"), ("sm_100a", None)):
        best = best_of(bundle.kernels, lambda text, device=device: fit(text, f"cuda -arch={device}"))
        assert (best and Target.parse(best.target).get("arch")) == expected
    with pytest.raises(LaunchError, match="sm_75") as caught:
        bundle.find("add", 16, 32, target="cuda -arch=sm_75")
    assert "sm_80" in str(caught.value)


def test_a_program_finds_the_cubin_of_its_architecture(tmp_path, monkeypatch):
    """A function for sm_90 gets the cubin for sm_90 without a compiler, and one for sm_86 that for sm_80."""
    compiler()
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bundled_cuda.py").write_text(KERNELS)
    file, bundle = str(tmp_path / "bundled_cuda.py"), str(tmp_path / "k.tcb")
    with pytest.raises(SystemExit):
        main(["compile", file, "--target", "cuda -arch=sm_80", "-o", bundle])
    (tmp_path / "k.tcb").chmod(0o644)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("TILECORE_CACHE_PATH", str(tmp_path / "k.tcb"))
    settings = "out_idx=-1, target='cuda -arch=sm_86', execution_backend='cython'"
    (tmp_path / "program_cuda.py").write_text(KERNELS.replace("out_idx=-1", settings))
    monkeypatch.syspath_prepend(str(tmp_path))
    import program_cuda

    kernel = program_cuda.add(16, 32)
    assert kernel.from_cache
    assert kernel.target.get("arch") == "sm_80"
