"""The execution backend ``opencl``: runs kernels on tensors of the host, through pyopencl."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tile_opencl.devices import NoDevice, on_cpu, queue, words, working
from tile_opencl.toolchain import FORMAT
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError
from tilecore.target import Target


class OpenCLAdapter(KernelAdapter):
    name = "opencl"

    def available(self, target: Target) -> Presence:
        try:
            return Presence(True, words(working(str(target.get("device")))))
        except NoDevice as error:
            return Presence(False, str(error))

    def binary_formats(self) -> Sequence[str]:
        return (FORMAT,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Compiles the program with the device's driver. Raises LaunchError with the driver's message."""
        import pyopencl as cl

        from tile_opencl.launch import Launch

        commands = queue(str(Target.parse(artifact.target).get("device")))
        try:
            program = json.loads(artifact.binary)
            # a driver for CPUs turns the threads into loops; with unrolled loops in them it compiles for minutes
            source = re.sub("#pragma unroll.*" if on_cpu(commands.device) else "$^", "", program["source"])
            options = [*_rounding_options(commands.device), *_workarounds(commands.device), *program["options"]]
            built = cl.Program(commands.context, source).build(options=options)
        except (ValueError, cl.RuntimeError) as error:
            raise LaunchError(f"the driver does not compile {artifact.name}", found=str(error)) from None
        launch = Launch(artifact, commands, built)
        return LoadedKernel(launch, error=launch.words, owner=launch)


def _rounding_options(device: Any) -> list[str]:
    """The option for correctly rounded divisions and square roots, where the device supports it."""
    import pyopencl as cl

    supported = device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    return ["-cl-fp32-correctly-rounded-divide-sqrt"] if supported else []


def _workarounds(device: Any) -> list[str]:
    """No optimization for PoCL 3, whose optimized kernels write past private memory around some barriers."""
    return ["-cl-opt-disable"] if "Portable Computing Language, 3." in words(device) else []
