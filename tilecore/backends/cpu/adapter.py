"""The execution backend ``native``: loads the object into this process and runs it on a pool of threads."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.artifact.records import Artifact
from tilecore.backends.cpu import systems
from tilecore.backends.cpu.target import features_in
from tilecore.contract.adapter import HostCode, KernelAdapter, LoadedKernel, this_machine
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.target import Target


def _needs_its_model(target: Target) -> bool:
    """Do kernels for it use extensions that it does not name? Those of aarch64 are not among a target's features."""
    is_native = (target.get("march") or "native") == "native"
    return is_native and systems.machine_of(target) == systems.AARCH64


class NativeAdapter(KernelAdapter):
    """Kernels as machine code of this process."""

    name = "native"
    device = 1

    def available(self, target: Target) -> Presence:
        from tilecore.backends.cpu.elf import supported
        from tilecore.backends.cpu.target import host_features, host_model, lacks_permission

        ok, detail = supported()
        needed, here = self.machine(target), this_machine()
        if ok and needed != here:
            return Presence(False, f"its kernels run on {needed}, and this is {here}")
        missing = sorted(features_in(target) - {*host_features()})
        if ok and missing and lacks_permission(missing):
            return Presence(False, f"the system does not let this process use {', '.join(missing)}")
        if ok and missing:
            return Presence(False, f"this processor has no {', '.join(missing)}")
        if ok and _needs_its_model(target) and target.get("model") != host_model():
            return Presence(False, f"kernels for -march=native of {target.get('model')} run there only")
        return Presence(ok, detail)

    def fit(self, compiled_for: Target, wanted: Target) -> int:
        """Kernels fit processors that have their extensions; the more of them the better, and best is the same model.
        Those for -march=native of an aarch64 processor fit the same model only."""
        if compiled_for == wanted:
            return 1000
        if self.machine(compiled_for) != self.machine(wanted):
            return 0
        needed, present = features_in(compiled_for), features_in(wanted)
        is_the_model = compiled_for.get("model") == wanted.get("model")
        if not needed <= present or (_needs_its_model(compiled_for) and not is_the_model):
            return 0
        return (500 if is_the_model and compiled_for.get("march") == "native" else 1) + len(needed)

    def machine(self, target: Target) -> str:
        return systems.python_name(target)

    def binary_formats(self) -> Sequence[str]:
        return ("object",)

    def host_code(self, artifact: Artifact) -> HostCode:
        from tilecore.backends.cpu.host_code import host_code

        needed, here = self.machine(Target.parse(artifact.target)), this_machine()
        if needed != here:
            raise UnsupportedError(
                f"{artifact.name} is for {needed}, and shared libraries are linked by the compiler of this machine",
                found=here,
                expected=needed,
                hint="write a bundle of kernels for other systems (tilecore compile), or export the library there",
            )
        return host_code(artifact)

    def load(self, artifact: Artifact) -> LoadedKernel:
        from tilecore.backends.cpu.elf import load_object
        from tilecore.backends.cpu.pool import launch_of

        present = self.available(
            Target.parse(artifact.target)
        )  # asks the system for the permission that the kernel needs
        if not present.present:
            raise LaunchError(f"{artifact.name} cannot run here", found=present.detail, expected=artifact.target)
        loaded = load_object(artifact.binary, {})
        loaded.keep_only(entry.symbol for entry in artifact.entries)  # a process may have many kernels
        addresses = [loaded.address(entry.symbol) for entry in artifact.entries]
        assertions = [text for entry in artifact.entries for text in entry.attributes.get("assertions", ())]
        launch, state, owner = launch_of(addresses, [entry.work for entry in artifact.entries])

        def error(code: int) -> str:
            if 1 <= code <= len(assertions):
                return f"device assertion failed: {assertions[code - 1]}"
            return _reason(code)

        return LoadedKernel(launch, state, error if assertions else _reason, (loaded, owner))


def _reason(code: int) -> str:
    """Why a kernel without assertions failed."""
    return "out of memory for scratch" if code == -1 else f"the kernel returned {code}"
