"""The target: names of architectures, widths of waves, capabilities, and devices as the kernel driver lists them."""

from __future__ import annotations

import pytest
from tile_hip import architectures, devices
from tile_hip.target import SPEC, capabilities, resolve

from tilecore.dtypes import FACTS
from tilecore.errors import TargetError
from tilecore.target import Target


def target(text: str = "hip") -> Target:
    return resolve(Target.parse(text))


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
def test_architectures_by_their_names(name):
    assert architectures.parse(name).name == name
    assert architectures.parse(f" {name.upper()}:sramecc+:xnack- ").name == name
    assert target(f"hip -arch={name}").get("arch") == name


@pytest.mark.parametrize("name", ["gfx943", "gfx", "", "sm_80", "gfx11-generic", "gfx9-4-generic", "942", "gfx942 x"])
def test_unknown_architectures(name):
    with pytest.raises(TargetError, match="there is no GPU architecture") as error:
        architectures.parse(name)
    assert "gfx942" in str(error.value)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
    ],
)
def test_numbers_of_the_kernel_driver(version, name):
    assert architectures.of_version(version) == name
    assert architectures.parse(name)


@pytest.mark.parametrize(
    ("text", "wave"),
    [
        ("hip -arch=gfx90a", 64),
        ("hip -arch=gfx1100", 32),
        ("hip -arch=gfx1201 -wave=64", 64),
        ("rocm -mcpu=gfx942", 64),
    ],
)
def test_waves(text, wave):
    from tilecore.plugins import manager

    _, resolved = manager.resolve(text)
    assert resolved.get("wave") == wave
    assert capabilities(resolved).warp == wave


@pytest.mark.parametrize(
    "text", ["hip -arch=gfx942 -wave=32", "hip -arch=gfx1100 -wave=16", "hip -arch=gfx90a -wave=128"]
)
def test_waves_that_a_chip_does_not_have(text):
    with pytest.raises(TargetError, match=r"waves of gfx.* cannot have"):
        target(text)


def test_capabilities():
    large, small = capabilities(target("hip -arch=gfx950")), capabilities(target("hip -arch=gfx90a"))
    assert (large.shared_bytes, small.shared_bytes) == (160 << 10, 64 << 10)
    assert small.dtypes <= set(FACTS)
    assert small.max_threads == 1024
    assert set(SPEC.aliases) == {"rocm", "amd"}


PROPERTIES = """cpu_cores_count {cpus}
simd_count {simds}
simd_per_cu 4
gfx_target_version {version}
"""


@pytest.fixture
def topology(tmp_path):
    """Nodes of the kernel driver: a processor, two GPUs, and one that this user may not read."""
    for number, (cpus, simds, version) in enumerate([(64, 0, 0), (0, 1216, 90402), (0, 384, 110000)]):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "properties").write_text(PROPERTIES.format(cpus=cpus, simds=simds, version=version))
    (tmp_path / "3").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def no_choice(monkeypatch):
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)


def test_devices_of_the_kernel_driver(topology):
    listed, reason = devices.visible_devices(topology)
    assert [(device.arch, device.units) for device in listed] == [("gfx942", 304), ("gfx1100", 96)]
    assert not reason


@pytest.mark.parametrize(
    ("choice", "names"),
    [("1", ["gfx1100"]), ("1,0", ["gfx1100", "gfx942"]), ("0,7,1", ["gfx942"]), ("", []), ("x", [])],
)
def test_the_devices_that_the_user_chooses(topology, monkeypatch, choice, names):
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", choice)
    listed, reason = devices.visible_devices(topology)
    assert [device.arch for device in listed] == names
    assert bool(reason) == (not names)


def test_no_devices(tmp_path):
    assert devices.visible_devices(tmp_path / "none") == ([], "the kernel driver amdgpu is not loaded")
    assert devices.visible_devices(tmp_path) == ([], "the kernel driver lists no GPU")


def test_the_first_device_is_the_default_architecture(topology, monkeypatch):
    monkeypatch.setattr("tile_hip.target.visible_devices", lambda: devices.visible_devices(topology))
    assert target().get("arch") == "gfx942"
    monkeypatch.setattr("tile_hip.target.visible_devices", lambda: ([devices.Device("gfx1201", 64)], ""))
    assert (target().get("arch"), target().get("wave")) == ("gfx1201", 32)
