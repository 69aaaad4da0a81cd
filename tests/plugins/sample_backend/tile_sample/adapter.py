"""Loads the "binary" and launches nothing."""

from __future__ import annotations

from tilecore.plugins.backend import Presence
from tilecore.runtime.adapter import KernelAdapter, LoadedKernel
from tilecore.runtime.artifact import Artifact
from tilecore.target import Target


class SampleAdapter(KernelAdapter):
    name = "sample"

    def available(self, target: Target) -> Presence:
        return Presence(True, "simulated")

    def load(self, artifact: Artifact) -> LoadedKernel:
        return LoadedKernel(launch=lambda slots, grids, stream: 0)

    def binary_formats(self) -> tuple[str, ...]:
        return ("text",)
