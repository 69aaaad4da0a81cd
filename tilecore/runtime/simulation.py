"""Warns of kernels that run on a simulated device without an explicit request, and refuses to export them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tilecore.caller import levels_to_user
from tilecore.contract.adapter import SIMULATED
from tilecore.errors import UnsupportedError
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.records import Backend


class SimulationWarning(UserWarning):
    """Kernels run on a simulated device, slowly, without an explicit request."""


_warned: set[str] = set()  # kinds of targets that a warning was given for


def simulates(adapter: str, backend: Backend) -> bool:
    """Whether the backend's execution backend of this name simulates the target's device."""
    return adapter == SIMULATED or bool(getattr(backend.adapters.get(adapter), "simulates", False))


def is_simulation(artifact: Artifact, backend: Backend) -> bool:
    """Whether the artifact was compiled for an execution backend that simulates the target's device."""
    return simulates(artifact.adapter, backend)


def warn_of_simulation(artifact: Artifact, backend: Backend, target: Target) -> None:
    """Warn, once for each kind of target, that ``auto`` chose the simulated device because no device is present."""
    if not is_simulation(artifact, backend) or target.kind in _warned:
        return
    _warned.add(target.kind)
    device_adapter = real_adapter(backend)
    others = (
        "" if device_adapter is None else f'; execution_backend="{device_adapter}" compiles for the device, for export'
    )
    warnings.warn(
        f"this machine has no device for target {target.kind!r}, so kernels for {target} run on a simulated device on "
        "the host, which is slow. To choose it without this warning, set TILECORE_SIMULATE=1 or "
        f'execution_backend="{artifact.adapter}"{others}',
        SimulationWarning,
        stacklevel=levels_to_user(),
    )


def refuse_export(artifact: Artifact, backend: Backend) -> None:
    """Raise UnsupportedError for a kernel that only a simulated device runs."""
    if not is_simulation(artifact, backend):
        return
    device_adapter = real_adapter(backend)
    compile_it = (
        "compile it for a device" if device_adapter is None else f'compile it with execution_backend="{device_adapter}"'
    )
    raise UnsupportedError(
        f"{artifact.name} was compiled for a simulated device (execution_backend={artifact.adapter!r}) and cannot "
        "run on a device",
        expected="a kernel that was compiled for the device",
        hint=f"{compile_it}, which needs the device's compiler but no device; export(path, simulation=True) exports "
        "the simulation",
    )


def warn_of_loading(artifact: Artifact, backend: Backend) -> None:
    """Warn that a kernel from a file runs on a simulated device."""
    if is_simulation(artifact, backend):
        target = Target.parse(artifact.target).brief()
        warnings.warn(
            f"{artifact.name} was exported as a simulation of {target}: it runs on the host, which is slow",
            SimulationWarning,
            stacklevel=levels_to_user(),
        )


def real_adapter(backend: Backend) -> str | None:
    """The name of the first execution backend that is not a simulation; None where there is none."""
    return next((name for name in backend.adapters if not simulates(name, backend)), None)
