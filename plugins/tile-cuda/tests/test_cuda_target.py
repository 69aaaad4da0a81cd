"""The target: architectures, attributes, and what is found on a machine."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tile_cuda import architectures, devices, target

from tilecore.errors import TargetError
from tilecore.target import Target


@pytest.fixture
def present(monkeypatch):
    def put(*capabilities):
        visible = tuple(devices.Device(f"GPU {i}", c) for i, c in enumerate(capabilities))
        answer = (visible, "" if visible else "the driver shows no device")
        monkeypatch.setattr(devices, "visible_devices", lambda: answer)
        monkeypatch.setattr(target, "visible_devices", lambda: answer)

    return put


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sm_90a", "sm_90a"),
        ("90", "sm_90"),
        (80, "sm_80"),
        ("8.9", "sm_89"),
        ("compute_100a", "sm_100a"),
        ("SM75", "sm_75"),
    ],
)
def test_names_of_architectures(text, name):
    assert architectures.parse(text).name == name


@pytest.mark.parametrize("text", ["sm_90x", "sm_35", "fast", "", "sm_9"])
def test_wrong_architectures(text):
    with pytest.raises(TargetError, match="there is no GPU architecture"):
        architectures.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sm_80a", "sm_80; architectures from sm_90 on have the suffix a"),
        ("sm_90f", "sm_90; architectures from sm_100 on have the suffix f"),
        ("sm_91", r"one of sm_70, .*sm_121.*did you mean sm_90"),
        ("sm_80x", "did you mean sm_80"),
    ],
)
def test_what_wrong_architectures_should_be(text, words):
    with pytest.raises(TargetError, match=f"(?s)there is no GPU architecture '{text}'.*{words}"):
        architectures.parse(text)


def test_auto_is_the_device_present(present):
    present((9, 0))
    assert target.resolve(Target("cuda", {"arch": "auto"})).get("arch") == "sm_90a"
    present((8, 6), (8, 6))
    assert target.resolve(Target("cuda", {"arch": "auto"})).get("arch") == "sm_86"
    assert "GPU 0 (sm_86), GPU 1 (sm_86), 2 devices" in target.detect().detail
    present((12, 9))  # newer than all that is known
    assert target.resolve(Target("cuda", {"arch": "auto"})).get("arch") == "sm_121"
    present()
    assert target.resolve(Target("cuda", {"arch": "auto"})).get("arch") == "sm_80"
    assert not target.detect().present


def test_registers():
    resolved = target.resolve(Target("cuda", {"arch": "sm_80", "max_registers": 128}))
    assert resolved.get("max_registers") == 128
    with pytest.raises(TargetError, match="max_registers is 900"):
        target.resolve(Target("cuda", {"arch": "sm_80", "max_registers": 900}))


def test_capabilities():
    hopper = target.capabilities(Target("cuda", {"arch": "sm_90a"}))
    assert (hopper.shared_bytes, hopper.max_threads, hopper.warp) == (232448, 1024, 32)
    assert hopper.thread_bytes == 512 << 10
    assert {"mma", "copy_async", "stmatrix", "fp8_mma", "wgmma"} <= hopper.features
    volta = target.capabilities(Target("cuda", {"arch": "sm_70"}))
    assert not {"mma", "copy_async"} & volta.features
    assert "wgmma" not in target.capabilities(Target("cuda", {"arch": "sm_90"})).features


def test_hidden_devices(monkeypatch):
    devices.visible_devices.cache_clear()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    try:
        assert devices.visible_devices() == ((), "CUDA_VISIBLE_DEVICES is ''")
    finally:
        devices.visible_devices.cache_clear()


def test_the_plugin_is_light():
    code = (
        "import sys, tile_cuda.plugin as p\n"
        "p.tilecore_target(); p.tilecore_toolchain(); p.tilecore_codegen(); p.tilecore_adapters()\n"
        "print([m for m in ('tvm', 'tvm_ffi', 'torch', 'numpy') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "[]\n", ended.stderr


def test_the_backend_is_whole(installed):
    from tilecore.plugins import manager

    backend, resolved = manager.resolve("nvidia -arch=90a")
    assert (backend.target.kind, resolved.get("arch")) == ("cuda", "sm_90a")
    assert next(iter(backend.adapters)) == "cython"


def test_kernels_of_an_edited_backend_are_made_anew(installed):
    """In a source checkout the version has a digest of the package's files."""
    from pathlib import Path

    import tile_cuda

    from tilecore.jit.request import make_request

    is_checkout = not list(Path(tile_cuda.__file__).parents[1].glob("*.dist-info"))
    versions = make_request(target="cuda -arch=sm_80", execution_backend="sim").key_parts()["versions"]["tile-cuda"]
    assert ("+source." in versions) is is_checkout
