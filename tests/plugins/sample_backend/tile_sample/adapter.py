"""Loads the "binary" and launches nothing."""

from __future__ import annotations

from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.target import Target


class SampleAdapter(KernelAdapter):
    name = "sample"

    def available(self, target: Target) -> Presence:
        return Presence(True, "simulated")

    def load(self, artifact: Artifact) -> LoadedKernel:
        return LoadedKernel(launch=lambda slots, grids, stream: 0)

    def binary_formats(self) -> tuple[str, ...]:
        return ("text",)
