"""Packages with one fault each: what such a package is, and the module that stands for it on disk."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

HEADER = """from dataclasses import replace
from pathlib import Path

from tile_healthy import Healthy, HealthyAdapter, HealthyTimer

from tilecore.contract.adapter import LoadedKernel
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import (
    CONTRACT_VERSION, Capabilities, Codegen, Found, Installable, Lowering, Presence, TargetSpec, Toolchain,
)
"""


@dataclass(frozen=True)
class BrokenPackage:
    """A backend's package with one fault.

    kind: its target. fault: in words. step: the first step of use_all.py that fails; "none": all work. says: what the
    error says. targets: its status in `tilecore targets`, unless a later step fails
    that needs no kernel: then it is "broken". backend, adapter: what the classes of the healthy package's
    plugin and of its adapter get in their place. imports: that these need besides HEADER. module: its whole text, where
    it is no variant of the healthy package.
    """

    kind: str
    fault: str
    step: str = ""
    says: str = ""
    targets: str = "ok"
    backend: str = ""
    adapter: str = ""
    imports: str = ""
    module: str = ""

    @property
    def package(self) -> str:
        return f"tile-{self.kind.replace('_', '-')}"

    def text(self) -> str:
        """The source of the module."""
        if self.module:
            return self.module
        adapter = f"class BrokenAdapter(HealthyAdapter):\n{_indented(self.adapter)}\n\n" if self.adapter else ""
        kind = f"kind = {self.kind!r}\n" + ("adapter = BrokenAdapter\n" if self.adapter else "")
        backend = f"class Broken(Healthy):\n{_indented(kind + self.backend)}\n\n"
        return f"{self.imports}\n{HEADER}\n\n{adapter}{backend}plugin = Broken()\n"


def _indented(text: str) -> str:
    return textwrap.indent(text.strip("\n") + "\n", "    ")
