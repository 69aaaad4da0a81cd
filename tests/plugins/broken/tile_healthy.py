"""A backend that works: the neighbour that must not be disturbed, and the base of the broken ones.

A broken plugin is a subclass with one thing wrong; its file's docstring says what, and which message is expected:

    step: the first step of use_all.py that fails ("none": all work)
    says: what the error says            targets: its status in `tilecore targets` (ok when left out)
"""

from __future__ import annotations

from tilecore.plugins.backend import Capabilities, Codegen, Found, Lowering, Presence, TargetSpec, Toolchain
from tilecore.plugins.hookspecs import hookimpl
from tilecore.runtime.adapter import KernelAdapter, LoadedKernel


class HealthyAdapter(KernelAdapter):
    name = "plain"

    def available(self, target):
        return Presence(True, "always")

    def load(self, artifact):
        return LoadedKernel(launch=self.launch, error=self.describe)

    def launch(self, slots, grids, stream):
        return 0

    def describe(self, code):
        return f"code {code}"

    def binary_formats(self):
        return ("text",)

    def current_stream(self, device_index):
        return 0


class Healthy:
    """Its methods are the hooks; what they answer with are its other methods, so that a subclass replaces one."""

    kind = "healthy"
    adapter = HealthyAdapter

    @hookimpl
    def tilecore_target(self):
        return TargetSpec(
            self.kind,
            "a target for tests",
            self.capabilities,
            self.detect,
            self.resolve,
            aliases={f"{self.kind}-alias": {}},
        )

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("none", self.stand_in)

    @hookimpl
    def tilecore_codegen(self):
        return Codegen(f"target.build.tilecore_{self.kind}", "txt", self.register)

    @hookimpl
    def tilecore_toolchain(self):
        return Toolchain(self.find, self.build, self.version)

    @hookimpl
    def tilecore_adapters(self):
        return [self.adapter()]

    def capabilities(self, target):
        return Capabilities(frozenset({"float32"}), frozenset({"global"}), frozenset())

    def detect(self):
        return Presence(False, "no such device")

    def resolve(self, target):
        return target

    def stand_in(self, target):
        return {"kind": "c"}

    def register(self):
        return None

    def find(self):
        return [Found("compiler", False, "/nowhere", fix="install it")]

    def build(self, request):
        return request.source.encode(), "text"

    def version(self, target):
        return "1"


plugin = Healthy()
