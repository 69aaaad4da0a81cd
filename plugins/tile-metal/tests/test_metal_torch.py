"""The execution backend ``torch`` on the stand-in for torch.mps: what torch gets, results, failures."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fake_mps import MpsTensor, mps  # noqa: E402
from metal_kernels import artifact  # noqa: E402
from tile_metal.runtime import machine, torch_module  # noqa: E402
from tile_metal.runtime.torch_adapter import TorchAdapter  # noqa: E402

from tilecore.artifact.records import ScalarParam, TensorParam, Workspace  # noqa: E402
from tilecore.errors import ArgumentError, LaunchError, LimitError, ToolchainError, UnsupportedError  # noqa: E402
from tilecore.runtime import launcher, launcher_py  # noqa: E402
from tilecore.target import Target  # noqa: E402

TARGET = Target.parse("metal -family=apple7 -msl=3.2")
MPS = 8


def loaded(compiled, kind=launcher.Launcher):
    adapter = TorchAdapter()
    return kind(compiled, adapter.load(compiled), adapter, MPS)


@pytest.mark.parametrize("kind", dict.fromkeys((launcher.Launcher, launcher_py.Launcher)))
def test_a_launch(torch_mps, kind):
    """Views at an offset; threads, not threadgroups; ints in their size."""
    kernel = loaded(dataclasses.replace(artifact("scale_kernel"), out_idx=(1,)), kind)
    a = torch.arange(50 * 40, dtype=torch.float16).reshape(50, 40) / 64
    on_mps = mps(a)[3:24]
    result = kernel(on_mps, 0.5, -3)
    assert type(result) is MpsTensor
    np.testing.assert_array_equal(result.cpu().numpy(), (a[3:24].float() * 0.5 - 3).half().numpy())
    ((symbol, arguments, threads, group, casts),) = torch_mps.calls
    assert (symbol[:13], threads, group) == ("scale_kernel_", [6 * 64, 1, 1], [64, 1, 1])
    assert arguments[0] is on_mps
    assert arguments[1] is result
    assert arguments[2:] == (0.5, -3, 21)
    assert casts == {3: "int32", 4: "int32"}
    empty = kernel(mps(a)[:0], 0.5, -3)
    assert (tuple(empty.shape), len(torch_mps.calls)) == ((0, 40), 1)
    for wrong, words in (
        ((a, 0.5, 1), "wrong device"),
        ((mps(a).T, 0.5, 1), r"shape|A.shape\[1\]"),
        ((mps(a)[:, :20], 0.5, 1), r"A\.shape\[1\]"),
        ((mps(a)[::2], 0.5, 1), "not contiguous"),
        ((np.zeros((4, 40), np.float16), 0.5, 1), "wrong device"),
    ):
        with pytest.raises(ArgumentError, match=words):
            kernel(*wrong)


def test_every_type_of_scalar(torch_mps):
    out = mps(torch.zeros(16))
    loaded(artifact("scalars_kernel"))(
        out, -7, 250, -300, 65000, -(2**31), 2**32 - 256, -(2**40), 2**63, -1.5, 3.0, 0.1, True
    )
    expected = [-7, 250, -300, 65000, -(2**31), 2**32 - 256, -(2**40), 2**63, -1.5, 3.0, 0.1, 1]
    np.testing.assert_array_equal(out.cpu().numpy()[:12], np.array(expected, np.float32))
    ((_, arguments, _, _, casts),) = torch_mps.calls
    names = "int8 uint8 int16 int16 int32 int32".split()
    assert casts == {**{i + 1: name for i, name in enumerate(names)}, 9: "fp16", 10: "bf16", 12: "uint8"}
    assert arguments[4] == 65000 - 65536
    assert arguments[6] == -256
    assert arguments[8] == -(2**63)


def test_what_kernels_print_and_assert(torch_mps, capfd):
    """The simulated device prints at once and raises for assertions itself, so the buffer is written by hand here; the
    header that writes it is tested by test_metal_messages.py."""
    kernel = loaded(artifact("talking_kernel"))
    x = mps(torch.full((64,), 5, dtype=torch.int32))
    with torch.inference_mode():
        kernel(x)
    assert capfd.readouterr().out == "the first, 100%: 5\n" * 2
    (call,) = torch_mps.calls
    buffer = call[1][1]
    assert not buffer.cpu().any()
    written = torch.zeros(24, dtype=torch.int32)
    written[:10] = torch.tensor([4, 3, 2, 1, 1, 0, 0, 40, 0, 0])  # pairs, dropped, failures; number, block, thread
    written[16:] = torch.tensor([2 | 1 << 16, 1, -2, -1] * 2)
    run = call[0] and torch_mps.calls.clear

    def write(*_):
        buffer[:24] = written.as_subclass(MpsTensor)

    kernel.loaded.owner._kernels[0]._program.run = write
    with pytest.raises(
        LaunchError, match=r"talking_kernel failed: talking_kernel_64_i32_\w+: device assertion failed: too large \("
    ) as e:
        kernel(x)
    assert "in block (1, 0, 0), thread (40, 0, 0); 1 more failed" in str(e.value)
    out, err = capfd.readouterr()
    assert out == "the first, 100%: -2\n" * 2
    assert err == "tile-metal: 3 more prints of talking_kernel found no room and are lost\n"
    assert not buffer[16:].cpu().any(), "the records are cleared for the next launch"
    run()


def test_programs_are_compiled_once(torch_mps):
    kernels = [loaded(artifact("scale_kernel")) for _ in range(2)]
    assert torch_mps.compiled == 1
    del kernels


def test_what_the_compiler_refuses(torch_mps):
    compiled = artifact("scale_kernel")
    line = next(i for i, text in enumerate(compiled.binary.decode().splitlines(), 1) if "metal_kernels.py:" in text)
    torch_mps.refuses = SyntaxError(f"program_source:{line}:9: error: no member named 'x' in 'y'\n  int b;\n")
    with pytest.raises(ToolchainError, match="cannot compile the code of scale_kernel: no member named 'x'") as caught:
        TorchAdapter().load(compiled)
    assert "(from metal_kernels.py:" in caught.value.found
    torch_mps.refuses = RuntimeError("Failed to create metal library")
    with pytest.raises(ToolchainError, match="failed on scale_kernel: Failed to create"):
        TorchAdapter().load(compiled)
    torch_mps.most_threads = 32
    with pytest.raises(LimitError, match="too many registers"):
        TorchAdapter().load(compiled)
    torch_mps.most_threads, torch_mps.threadgroup_bytes = 64, 32784
    with pytest.raises(LimitError, match="too much threadgroup memory"):
        TorchAdapter().load(compiled)
    missing = dataclasses.replace(compiled, entries=(dataclasses.replace(compiled.entries[0], symbol="other"),))
    with pytest.raises(ToolchainError, match="other"):
        TorchAdapter().load(missing)


def test_what_is_refused_before_torch_hears_of_it(torch_mps):
    compiled = artifact("scale_kernel")
    many = dataclasses.replace(
        compiled,
        params=(*compiled.params, *(ScalarParam(f"s{i}", "int32") for i in range(25))),
        workspaces=(Workspace("W", "float32", (4,)), Workspace("V", "float32", (4,))),
    )
    with pytest.raises(LimitError, match="more parameters than a Metal kernel") as caught:
        TorchAdapter().load(many)
    assert caught.value.found.startswith("32 ")
    with pytest.raises(LaunchError, match="no program for Metal"):
        TorchAdapter().load(dataclasses.replace(compiled, binary_format="simulation", adapter="sim"))
    wide = dataclasses.replace(compiled, entries=(dataclasses.replace(compiled.entries[0], grid=(2**27, 1, 1)),))
    kernel = loaded(wide)
    a = mps(torch.zeros(4, 40, dtype=torch.float16))
    with pytest.raises(LaunchError, match="too large along x"):
        kernel(a, mps(a), 1.0, 1)
    tall = dataclasses.replace(compiled, entries=(dataclasses.replace(compiled.entries[0], threads=(64, 32, 1)),))
    with pytest.raises(LimitError, match="2048 threads"):
        TorchAdapter().load(tall)


def test_failures_of_launches(torch_mps):
    kernel = loaded(artifact("scale_kernel"))
    a = mps(torch.zeros(4, 40, dtype=torch.float16))
    torch_mps.fails = [RuntimeError("command buffer exited with error status")]
    with pytest.raises(LaunchError, match=r"scale_kernel failed: scale_kernel_\w+: command buffer exited") as caught:
        kernel(a, mps(a), 1.0, 1)
    assert "grid (1, 1, 1), threads (64, 1, 1)" in caught.value.found
    torch_mps.fails = [RuntimeError("lost")]
    with pytest.raises(LaunchError, match="a kernel on the GPU failed: lost"):
        TorchAdapter().synchronize()


def test_workspaces_and_timers(torch_mps):
    compiled = artifact("scale_kernel")
    adapter = TorchAdapter()
    assert type(adapter.empty((2, 3), "float16")) is MpsTensor
    assert adapter.torch_device() == "mps"
    assert adapter.current_stream(0) == 0
    torch_mps.current_stream = lambda: SimpleNamespace(stream_id=3)
    assert adapter.current_stream(0) == 3
    timer = adapter.timer()
    timer.start()
    timer.stop()
    assert timer.elapsed() >= 0
    assert torch_mps.waits == 2
    with pytest.raises(UnsupportedError, match="cannot time by 'cupti'"):
        adapter.timer(backend="cupti")
    first = TensorParam("A", "float16", (4, 40), access="r")
    assert compiled.params[0].name == first.name


def test_presence(torch_mps, mac):
    adapter = TorchAdapter()
    assert adapter.available(TARGET).detail.startswith("Apple M3 Max, macOS 15.3, torch ")
    assert "MSL 4.0 needs macOS 26, and this is macOS 15.3" in adapter.available(Target.parse("metal -msl=4.0")).detail

    def reason():
        presence = adapter.available(TARGET)
        assert not presence.present
        return presence.detail

    mac.setattr(torch.backends.mps, "is_available", lambda: False)
    assert "is_available() is False" in reason()
    mac.setattr(torch.backends.mps, "is_built", lambda: False)
    assert "built without MPS" in reason()
    mac.setattr(torch, "mps", object())
    assert "has no torch.mps.compile_shader: install torch 2.7 or newer" in reason()
    with mac.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        assert "torch cannot be imported" in torch_module.torch_problem()
        versions = {"2.6.0": False, "2.7.1": True, "2.15.0a0+git": True}
        for version, enough in versions.items():
            patch.setattr(torch_module.importlib.metadata, "version", lambda name, version=version: version)
            assert adapter.available(TARGET).present == enough
            assert f"torch {version}" in adapter.available(TARGET).detail
        assert torch_module.torch_in_use() is None

        def missing(name):
            raise torch_module.importlib.metadata.PackageNotFoundError

        patch.setattr(torch_module.importlib.metadata, "version", missing)
        assert "torch is not installed: install torch 2.7" in reason()
    mac.setattr(machine, "_machine", lambda: machine.Machine("Apple M1", 7, (13, 6), "3.0"))
    machine.machine.cache_clear()
    assert "MSL 3.2 needs macOS 15" in reason()
    assert "from macOS 14 on" in adapter.available(Target.parse("metal -msl=3.0")).detail


def test_no_torch_is_imported_where_there_is_no_mac():
    code = (
        "import sys; from tile_metal.adapter import adapters; from tilecore.target import Target\n"
        "found = [a.available(Target.parse('metal -msl=3.2')) for a in adapters()[:2]]\n"
        "assert not any(p.present for p in found) and all('TILECORE_SIMULATE=1' in p.detail for p in found), found\n"
        "assert 'torch' not in sys.modules and 'tvm' not in sys.modules"
    )
    if sys.platform != "darwin":
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("macos", "family", "words"),
    [((26, 1), 10, "macOS 26.1: from 26.2 on"), ((26, 3), None, "fail to build"), ((26, 2), 10, "")],
)
def test_products_by_matmul2d_need_a_macos_that_has_their_lanes(torch_mps, monkeypatch, macos, family, words):
    from tile_metal.runtime import checks, machine

    program = artifact("scale_kernel")
    monkeypatch.setattr(machine, "_machine", lambda: machine.Machine("Apple M5", family, macos, "4.0"))
    machine.machine.cache_clear()
    binary = b"#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n" + program.binary
    if not words:
        assert checks.check_program(dataclasses.replace(program, binary=binary)) == binary
        return
    with pytest.raises(LaunchError, match="does not run on this Mac") as failure:
        checks.check_program(dataclasses.replace(program, binary=binary))
    assert words in failure.value.found
    assert "metal.matmul2d" in failure.value.hint
