"""What the Mac has: system, chip, GPU, memory, and by a process of its own what torch and MLX say of the GPU."""

from __future__ import annotations

import json
import platform
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tilecore.testing.first_run.facts import general

PACKAGES = ("tilecore", "tile-metal", "apache-tvm", "torch", "mlx", "pyobjc-framework-Metal", "numpy", "pytest")
PARAVIRTUAL = "a virtual machine's paravirtual GPU: its results count, its speed does not"
_SYSCTL = {
    "chip": "machdep.cpu.brand_string", "model": "hw.model", "memory": "hw.memsize", "cores": "hw.physicalcpu",
    "is_virtual": "kern.hv_vmm_present", "is_translated": "sysctl.proc_translated",
}  # fmt: skip
_NUMBERS = ("memory", "cores", "is_virtual", "is_translated")
_SECONDS = 30  # for each of the system's commands
_DEVICE_SECONDS = 180  # for torch and MLX, which are imported, and the GPU's first answer


def facts(target: str, execution_backends: Sequence[str]) -> dict[str, Any]:
    """The facts of a report. No names of users, machines or folders, and no serial numbers are in it."""
    record = general(PACKAGES, target, execution_backends)
    if sys.platform != "darwin":
        return record
    return {**record, "macos": platform.mac_ver()[0], **_system(), "gpus": _gpus(), "devices": _devices()}


def heading(facts: dict[str, Any]) -> list[str]:
    """The first lines of the summary: the chip, the GPU, torch, MLX."""
    lines = [f"tile-metal first run, {facts['date']}: {facts['target']}, {facts['execution_backend']}"]
    if "macos" in facts:
        memory = f", {facts['memory'] / 2**30:.0f} GiB" if facts.get("memory") else ""
        lines.append(f"{facts.get('chip', 'unknown chip')}{memory}, macOS {facts['macos']}")
        lines += [
            f"GPU: {gpu['name']}" + (f", {gpu['cores']} cores" if "cores" in gpu else "") for gpu in facts["gpus"]
        ]
        if is_paravirtual(facts):
            lines.append(PARAVIRTUAL)
    packages = facts["packages"]
    lines.append(f"torch {packages.get('torch', 'missing')}, MLX {packages.get('mlx', 'missing')}")
    return lines


def problem(facts: dict[str, Any]) -> str:
    """Why no GPU can be used; "" if one can."""
    if "macos" not in facts:
        return (
            f"this is {platform.system()}, and Metal is part of macOS; run this on a Mac with Apple silicon, or with "
            "--simulated as a rehearsal"
        )
    if "torch" not in facts["packages"]:
        return "torch is not installed, and the checks make their tensors with it: pip install torch"
    devices = facts["devices"]
    chosen, target = facts["execution_backend"].split(", "), devices.get("tile-metal", {})
    missing = {name: target["missing"][name] for name in chosen if name in target.get("missing", {})}
    if len(missing) == len(chosen):  # why not: the system, an Intel processor, Rosetta, no session
        return "; ".join(dict.fromkeys(missing.values()))
    return str(devices.get("problem", ""))


def is_paravirtual(facts: dict[str, Any]) -> bool:
    """Whether the GPU is the one that macOS gives to a virtual machine, as on GitHub's runners."""
    names = json.dumps([facts.get("gpus"), facts.get("devices")])
    return bool(facts.get("is_virtual")) or "paravirt" in names.lower()


def _output(*words: str, seconds: float = _SECONDS) -> bytes:
    """What a command prints; b"" where it is missing, fails or takes too long."""
    try:
        return subprocess.run(words, capture_output=True, timeout=seconds, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return b""


def _system() -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, key in _SYSCTL.items():
        text = _output("sysctl", "-n", key).decode(errors="replace").strip()
        if text:
            record[name] = int(text) if name in _NUMBERS and text.isdecimal() else text
    return record


def _gpus() -> list[dict[str, Any]]:
    """The GPUs in the registry of the system's drivers."""
    text = _output("ioreg", "-a", "-r", "-d", "1", "-c", "IOAccelerator")
    try:
        entries = plistlib.loads(text) if text else []
    except (plistlib.InvalidFileException, ValueError):
        entries = []
    return [_gpu(entry) for entry in entries if isinstance(entry, dict)]


def _gpu(entry: dict[str, Any]) -> dict[str, Any]:
    name = entry.get("model", entry.get("IORegistryEntryName", "unknown"))
    if isinstance(name, bytes):
        name = name.rstrip(b"\0").decode(errors="replace")
    gpu: dict[str, Any] = {"name": str(name), "driver": str(entry.get("IOClass", ""))}
    if isinstance(entry.get("gpu-core-count"), int):
        gpu["cores"] = entry["gpu-core-count"]
    return gpu


def _devices() -> dict[str, Any]:
    """What torch, MLX and tile-metal say of the GPU (devices.py). A driver that hangs or crashes is a problem."""
    words = [sys.executable, "-m", "tile_metal.first_run.devices"]
    try:
        ended = subprocess.run(words, capture_output=True, timeout=_DEVICE_SECONDS)
    except subprocess.TimeoutExpired:
        return {"problem": f"torch, MLX and tile-metal found no GPU within {_DEVICE_SECONDS} seconds: it may hang"}
    if ended.returncode:
        text = ended.stderr.decode(errors="replace").strip()[-1000:]
        return {"problem": f"the process that asks for the GPU ended with code {ended.returncode}: {text}"}
    record: dict[str, Any] = json.loads(ended.stdout.decode().splitlines()[-1])
    return record
