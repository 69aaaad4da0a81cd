"""The target: names of architectures, widths of waves, capabilities, and devices as the kernel driver lists them."""

from __future__ import annotations

import pytest
from tile_hip import architectures, devices
from tile_hip.products import PRODUCTS, chip_of
from tile_hip.target import SPEC, capabilities, resolve

from tilecore.dtypes import FACTS
from tilecore.errors import TargetError
from tilecore.plugins import manager
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
    ("name", "hint"),
    [
        ("gfx94", "did you mean gfx942?"),
        ("gfx12", "did you mean gfx1200 or gfx1201?"),
        ("942", "did you mean gfx942?"),
        ("gfx943", "did you mean gfx942?"),
        ("mi300x", "MI300X is gfx942"),
        ("MI300", "MI300 is gfx942"),
        ("AMD Instinct MI355X", "MI355X is gfx950"),
        ("7900xtx", "RX 7900 XTX is gfx1100"),
        ("AMD Radeon RX 9070 XT", "RX 9070 XT is gfx1201"),
        ("AMD Radeon(TM) 8060S Graphics", "8060S is gfx1151"),
        ("MI100", "MI100 is gfx908, which tile-hip does not support"),
        ("sm_90", 'this is a GPU of NVIDIA: target="cuda -arch=sm_90"'),
        ("gfx11-generic", "generic architectures lack the matrix instructions"),
    ],
)
def test_names_that_are_nearly_right(name, hint):
    with pytest.raises(TargetError, match="there is no GPU architecture") as error:
        architectures.parse(name)
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize("name", ["gfx906", "gfx908", "gfx90c", "gfx1030", "gfx1036", "gfx803", "gfx940", "gfx1250"])
def test_architectures_that_are_not_supported(name):
    with pytest.raises(TargetError, match=f"tile-hip does not support {name}") as error:
        target(f"hip -arch={name}:xnack-")
    assert "gfx942" in (error.value.expected or "")
    assert error.value.hint
    if name in ("gfx1030", "gfx908"):
        assert {"gfx1030": "RX 6800", "gfx908": "MI100"}[name] in (error.value.found or "")


@pytest.mark.parametrize("features", ["xnack", "sramecc+:fast-", "xnack+ sramecc+", ":"])
def test_features_that_there_are_not(features):
    with pytest.raises(TargetError, match="there is no feature"):
        architectures.parse(f"gfx942:{features}")


@pytest.mark.parametrize(("product", "arch"), [(p, a) for a, t in PRODUCTS.items() for p in t.split(", ")])
def test_every_product_is_found_by_its_whole_name(product, arch):
    family = "AMD Instinct" if product.startswith("MI") else "AMD Radeon"
    assert chip_of(f"{family} {product}") == (arch, product)


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


def test_a_first_device_that_is_not_supported(monkeypatch):
    listed = [devices.Device("gfx1036", 2), devices.Device("gfx1100", 96)]
    monkeypatch.setattr("tile_hip.target.visible_devices", lambda: (listed, ""))
    with pytest.raises(TargetError, match="does not support the first GPU of this machine, gfx1036") as error:
        target()
    assert error.value.found == "GPUs: gfx1036, gfx1100"
    assert "HIP_VISIBLE_DEVICES" in (error.value.hint or "")
    assert target("hip -arch=gfx1100").get("arch") == "gfx1100"


def test_an_architecture_in_place_of_a_target():
    with pytest.raises(TargetError, match="no installed backend offers the target 'gfx942'") as error:
        manager.resolve("gfx942")
    assert "did you mean 'hip -arch=gfx942'?" in error.value.hint
