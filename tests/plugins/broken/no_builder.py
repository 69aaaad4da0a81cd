"""An adapter loads binaries, and nothing builds them.

step: resolve
says: an adapter loads binaries that nothing builds
"""

from tile_healthy import HealthyAdapter

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, Presence, TargetSpec


class Broken:
    @hookimpl
    def tilecore_target(self):
        return TargetSpec("no_builder", "builds nothing", lambda target: None, lambda: Presence(False, ""))

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("none", dict)

    @hookimpl
    def tilecore_codegen(self):
        return Codegen("target.build.tilecore_no_builder", "txt", lambda: None)

    @hookimpl
    def tilecore_adapters(self):
        return [HealthyAdapter()]


plugin = Broken()
