"""Kernels that run on the host in place of their device: asked for, or said aloud; never taken for the device."""

from __future__ import annotations

import warnings

from tilecore.artifact.records import Artifact
from tilecore.caller import levels_to_user
from tilecore.contract.adapter import SIMULATED
from tilecore.contract.records import Backend
from tilecore.errors import UnsupportedError
from tilecore.target import Target


class SimulationWarning(UserWarning):
    """Kernels run on a simulated device, slowly, though nobody asked for it by name."""


_warned: set[str] = set()  # kinds of targets


def simulates(adapter: str, backend: Backend) -> bool:
    """Whether the backend's execution backend of this name simulates the target's device."""
    return adapter == SIMULATED or bool(getattr(backend.adapters.get(adapter), "simulates", False))


def is_simulation(artifact: Artifact, backend: Backend) -> bool:
    """Whether the artifact was compiled for an execution backend that simulates the target's device."""
    return simulates(artifact.adapter, backend)


def warn_of_simulation(artifact: Artifact, backend: Backend, target: Target) -> None:
    """Say, once for a kind of target, that ``auto`` has chosen the simulated device because there is no other."""
    if not is_simulation(artifact, backend) or target.kind in _warned:
        return
    _warned.add(target.kind)
    real = real_adapter(backend)
    others = "" if real is None else f'; execution_backend="{real}" compiles for the device, to be exported'
    warnings.warn(
        f"no device of target {target.kind!r} is here, so kernels for {target} run on a simulated one, on the host: "
        f'right, but slow. TILECORE_SIMULATE=1 or execution_backend="{artifact.adapter}" asks for that{others}',
        SimulationWarning,
        stacklevel=levels_to_user(),
    )


def refuse_export(artifact: Artifact, backend: Backend) -> None:
    """Raise UnsupportedError for a kernel that only a simulated device runs."""
    if not is_simulation(artifact, backend):
        return
    real = real_adapter(backend)
    compile_it = "compile it for a device" if real is None else f'compile it with execution_backend="{real}"'
    raise UnsupportedError(
        f"{artifact.name} was compiled for a simulated device (execution_backend={artifact.adapter!r}), which no "
        "device runs",
        expected="a kernel for the device itself",
        hint=f"{compile_it}, which needs the device's compiler and not the device; or, for another simulation, "
        "export(path, simulation=True)",
    )


def warn_of_loading(artifact: Artifact, backend: Backend) -> None:
    """Say that a kernel from a file runs on a simulated device."""
    if is_simulation(artifact, backend):
        warnings.warn(
            f"{artifact.name} was exported as a simulation of {artifact.target}: it runs on the host, slowly",
            SimulationWarning,
            stacklevel=levels_to_user(),
        )


def real_adapter(backend: Backend) -> str | None:
    """The first execution backend that is no simulation."""
    return next((name for name in backend.adapters if not simulates(name, backend)), None)
