"""A backend that works: the neighbour that must not be disturbed, and the base of the broken ones."""

from __future__ import annotations

from pathlib import Path

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import (
    Capabilities,
    Codegen,
    Found,
    Installable,
    Lowering,
    Presence,
    TargetSpec,
    Toolchain,
)


class HealthyTimer:
    def start(self):
        pass

    def stop(self):
        pass

    def elapsed(self):
        return 1.5


class HealthyAdapter(KernelAdapter):
    name = "plain"

    def available(self, target):
        return Presence(True, "always")

    def load(self, artifact):
        return LoadedKernel(launch=self.launch, error=self.describe, advice=self.advise)

    def launch(self, slots, grids, stream):
        return 0

    def describe(self, code):
        return f"code {code}"

    def advise(self, code):
        return "try again"

    def timer(self, device_index=0, backend="event"):
        return HealthyTimer()

    def empty(self, shape, dtype, device_index=0):
        import numpy

        return numpy.empty(shape, dtype)

    def torch_device(self, device_index=0):
        return f"healthy:{device_index}"

    def fit(self, compiled_for, wanted):
        return 1

    def largest_run(self):
        return 1000

    def binary_formats(self):
        return ("text",)

    def current_stream(self, device_index):
        return 0

    def capture(self, device_index, stream):
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
            known_failures=self.known_failures,
            refused_names=self.refused_names,
        )

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("none")

    @hookimpl
    def tilecore_codegen(self):
        return Codegen(f"target.build.tilecore_{self.kind}", "txt", self.register)

    @hookimpl
    def tilecore_toolchain(self):
        offer = Installable("kit 1.0", "tools for tests", 1, 1, self.installed, self.install)
        return Toolchain(self.find, self.build, self.version, self.describe, offer, self.remarks)

    @hookimpl
    def tilecore_adapters(self):
        return [self.adapter()]

    def capabilities(self, target):
        return Capabilities(frozenset({"float32"}), frozenset({"global"}), frozenset())

    def detect(self):
        return Presence(False, "no such device")

    def resolve(self, target):
        return target

    def known_failures(self, target):
        return {"test_math.py::*erf*": "it has no erf"}

    def refused_names(self, target):
        return {"spin": ("needs another chip", "T.sync_threads")}

    def register(self):
        return None

    def find(self):
        return [Found("compiler", False, "/nowhere", fix="install it")]

    def build(self, request):
        return request.source.encode(), "text"

    def version(self, target):
        return "1"

    def describe(self, binary):
        return {"k": {"registers": 168}}

    def remarks(self, artifact):
        return ["4 waves fit"]

    def installed(self, folder):
        place = Path(folder, "kit")
        return str(place) if place.exists() else ""

    def install(self, request):
        request.progress("fetching", 1, 2)
        Path(request.folder, "kit").write_text("tools")
        return self.installed(request.folder)


plugin = Healthy()
