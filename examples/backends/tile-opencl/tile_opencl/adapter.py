"""The execution backend ``opencl``: kernels on tensors of the host, through pyopencl."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tile_opencl.devices import NoDevice, queue, words, working
from tile_opencl.toolchain import FORMAT
from tilecore.errors import LaunchError
from tilecore.plugins.backend import Presence
from tilecore.runtime.adapter import KernelAdapter, LoadedKernel
from tilecore.runtime.artifact import Artifact
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
        """Compiles the program with the device's driver. Raises LaunchError with what the driver says."""
        import pyopencl as cl

        from tile_opencl.launch import Launch

        try:
            program = json.loads(artifact.binary)
        except ValueError as error:
            raise LaunchError(f"the program of {artifact.name} is damaged", found=str(error)) from None
        commands = queue(str(Target.parse(artifact.target).get("device")))
        # a CPU's driver turns threads into loops: with others unrolled in them it compiles for minutes
        on_cpu = commands.device.type & cl.device_type.CPU
        source = re.sub(r"#pragma unroll.*", "", program["source"]) if on_cpu else program["source"]
        try:
            built = cl.Program(commands.context, source).build(options=program["options"])
        except cl.RuntimeError as error:
            raise LaunchError(f"the driver does not compile {artifact.name}", found=str(error)) from None
        launch = Launch(artifact, commands, built)
        return LoadedKernel(launch, error=launch.words, owner=launch)
