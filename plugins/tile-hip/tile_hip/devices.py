"""The AMD GPUs of this machine, as the kernel driver (amdkfd) lists them. No runtime is loaded and no device opened."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tile_hip.architectures import of_version
from tile_hip.driver import Driver, DriverError
from tile_hip.libraries import VARIABLE

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
WINDOWS = Path("/dev/dxg")  # the GPUs of a Windows machine, inside of its Linux; there is no kernel driver amdgpu


@dataclass(frozen=True)
class Device:
    """A GPU. arch: the name of its architecture, such as gfx942. units: the number of its compute units."""

    arch: str
    units: int


def visible_devices(topology: Path = TOPOLOGY) -> tuple[list[Device], str]:
    """(the GPUs that HIP would show, in its order; why there are none).

    The runtime is asked where the user names one (TILE_HIP_RUNTIME), and where Linux runs inside of Windows.
    """
    if os.environ.get(VARIABLE) or (not topology.is_dir() and WINDOWS.exists()):
        return devices_of_runtime()
    if not topology.is_dir():
        return [], "the kernel driver amdgpu is not loaded"
    devices = []
    for node in sorted(topology.iterdir(), key=lambda path: int(path.name) if path.name.isdigit() else -1):
        try:
            text = (node / "properties").read_text()
        except OSError:  # a node that this user may not see, as in a container with some of the GPUs
            continue
        properties = {name: int(number) for name, number in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}
        version, simds = properties.get("gfx_target_version", 0), properties.get("simd_count", 0)
        if version and simds:
            per_unit = properties.get("simd_per_cu", 0) or 4
            devices.append(Device(of_version(version), simds // per_unit))
    if not devices:
        return [], "the kernel driver lists no GPU"
    chosen = _chosen(len(devices))
    return [devices[index] for index in chosen], "" if chosen else "HIP_VISIBLE_DEVICES leaves none"


def devices_of_runtime() -> tuple[list[Device], str]:
    """(the GPUs that the HIP runtime shows; why there are none). It initializes the runtime."""
    try:
        driver = Driver.shared()
        devices = [Device(driver.arch(index), driver.units(index)) for index in range(driver.device_count())]
    except DriverError as error:
        return [], str(error)
    return devices, "" if devices else "the HIP runtime shows no GPU"


def _chosen(count: int) -> list[int]:
    """The indices that HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES leaves, up to the first wrong one, as HIP does."""
    for variable in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        text = os.environ.get(variable)
        if text is None:
            continue
        indices = []
        for word in text.split(","):
            if not word.strip().isdigit() or int(word) >= count:
                break
            indices.append(int(word))
        return indices
    return list(range(count))
