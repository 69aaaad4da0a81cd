"""What the machine has: versions, GPUs with their limits, the runtime, compilers, torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tilecore.testing.first_run.facts import general

PACKAGES = ("tilecore", "tile-hip", "apache-tvm", "torch", "triton", "numpy", "ziglang", "pytest")


def facts(target: str, execution_backends: Sequence[str]) -> dict[str, Any]:
    """The facts of a report. No names of users, machines or folders are in it."""
    return {
        **general(PACKAGES, target, execution_backends),
        "runtime": _runtime(),
        "kernel_driver": _kernel_driver(),
        "compilers": _compilers(),
        "torch": _torch(),
    }


def _runtime() -> dict[str, Any]:
    from tile_hip.driver import Driver, DriverError

    try:
        driver = Driver.shared()
        devices = [
            {"name": driver.device_name(i), "units": driver.units(i), **driver.limits(i)}
            for i in range(driver.device_count())
        ]
        return {"path": driver.path, "version": ".".join(map(str, driver.version)), "devices": devices}
    except DriverError as error:
        return {"problem": str(error)}


def _kernel_driver() -> dict[str, Any]:
    from tile_hip.devices import TOPOLOGY, visible_devices

    devices, reason = visible_devices()
    listed = [{"arch": device.arch, "units": device.units} for device in devices]
    variables = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION")
    settings = {name: os.environ[name] for name in variables if name in os.environ}
    return {"loaded": TOPOLOGY.is_dir(), "devices": listed, "problem": reason, "settings": settings}


def _compilers() -> list[str]:
    from tile_hip.compilers import installed, math_library

    found = [f"{' '.join(compiler.command)} {compiler.version}" for compiler in installed()]
    return [*found, f"ocml: {math_library() or 'missing'}"]


def _torch() -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        return {"problem": "torch is not installed"}
    hip = getattr(torch.version, "hip", None)
    record: dict[str, Any] = {"version": torch.__version__, "hip": hip, "cuda": torch.version.cuda}
    if hip is not None and torch.cuda.is_available():
        properties = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
        record["devices"] = [
            {"name": p.name, "arch": p.gcnArchName, "units": p.multi_processor_count, "memory": p.total_memory}
            for p in properties
        ]
    return record
