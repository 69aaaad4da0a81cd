"""Defines ``tilecore.load_bundle`` and the bundle that it returns."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tilecore.bundles import layers
from tilecore.bundles.file import BundleFile
from tilecore.bundles.format import KernelRecord
from tilecore.bundles.lookup import UnknownLabelError, matches, plain_label, some, unknown_label, unknown_name
from tilecore.bundles.trust import require_trusted
from tilecore.caller import keywords_checked
from tilecore.errors import ArgumentError, TilecoreError
from tilecore.jit.bundle_errors import nothing_for
from tilecore.jit.call_text import call_text
from tilecore.jit.export import kernel_of, kernel_of_any_device
from tilecore.plugins import manager
from tilecore.plugins.discovery import HOST_KIND
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.jit.kernel import JITKernel


class Bundle(Mapping[str, "JITKernel"]):
    """The kernels of a file that ``tilecore compile`` wrote, by their calls: ``bundle["matmul(200, 100, 300)"]``.

    A kernel is loaded, for the device of this machine, when it is first asked for; the same kernel is returned from
    then on. Loading needs neither TVM nor a compiler. A Bundle may be used by several threads.

    path: the file. kernels: the records of all kernels, for all targets. targets: their targets.
    """

    def __init__(self, file: BundleFile) -> None:
        self._file = file
        self._by_label: dict[str, list[KernelRecord]] = {}
        for record in file.index.kernels:
            self._by_label.setdefault(record.label, []).append(record)
        self._loaded: dict[KernelRecord, JITKernel] = {}
        self._resolved: dict[str, tuple[Backend, Target]] = {}
        self._devices: dict[str, Target | None] = {}
        self._fits: dict[tuple[str, str, str], int] = {}
        self._lock = threading.Lock()

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def kernels(self) -> tuple[KernelRecord, ...]:
        return self._file.index.kernels

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.target for record in self.kernels))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions that have kernels here."""
        return tuple(dict.fromkeys(record.name for record in self.kernels))

    def __getitem__(self, label: str) -> JITKernel:
        """The kernel of a call. White space outside of strings, and the kind of quotes, may differ from the label where
        only one kernel fits. Raises UnknownLabelError, a KeyError, where there is none or several, LaunchError where
        none is for this machine."""
        labels = self._labels_of(label)
        if not labels:
            raise unknown_label(self.path, label, self._by_label, self.names)
        if len(labels) > 1:
            raise UnknownLabelError(
                f"{self.path} has several kernels that {label!r} may mean",
                found=some(labels),
                expected="one of these labels, as it is written here",
            )
        return self._load(labels[0], self._by_label[labels[0]], None)

    def __contains__(self, label: object) -> bool:
        return len(self._labels_of(label)) == 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    def find(self, name: Any, *args: Any, target: Any = None, **kwargs: Any) -> JITKernel:
        """The kernel of a function for these arguments: ``bundle.find("matmul", 200, 100, K=300)``.

        name: of the function, or the function itself. target: what to find a kernel for; None: the device of this
        machine. The device of a target that is named need not be here: then the kernel can be inspected and exported,
        and a call raises LaunchError. Arguments that are left out have their defaults; those of an eager function are
        its tensors, or its T.const sizes by name. Raises ArgumentError where the bundle has no such kernel, LaunchError
        where none is for the target.
        """
        name = name if isinstance(name, str) else str(getattr(name, "__name__", name))
        named = [record for record in self.kernels if record.name == name]
        records = [record for record in named if matches(record, args, kwargs)]
        if not named:
            raise unknown_name(self.path, name, self.names, self._by_label)
        if not records:
            raise ArgumentError(
                f"{self.path} has no kernel {call_text(name, args, kwargs)}",
                expected=some(list(dict.fromkeys(record.label for record in named))),
                hint="tilecore compile adds kernels that the file declares; tilecore bundle lists them",
            )
        self._refuse_ambiguous(name, records)
        return self._load(records[0].label, records, target)

    def load_all(self) -> dict[str, JITKernel]:
        """All kernels that this machine runs, loaded, by label."""
        loaded = {}
        for label, records in self._by_label.items():
            record = self._best(records, None)
            if record is not None:
                loaded[label] = self._kernel(record)
        return loaded

    def add_to_cache(self) -> Bundle:
        """Let functions under ``tilecore.jit``, and ``tilecore.compile``, find these kernels instead of compiling them,
        in this process, as the bundles of TILECORE_CACHE_PATH; returns the bundle."""
        layers.add(self._file)
        return self

    def remove_from_cache(self) -> None:
        """Undo :meth:`add_to_cache`; kernels that were found stay in use."""
        layers.remove(self._file)

    def verify(self) -> None:
        """Read every kernel and check its digest. Raises BundleError."""
        self._file.verify()

    def close(self) -> None:
        """Close the file. Loaded kernels stay usable; others cannot be loaded any more."""
        self.remove_from_cache()
        self._file.close()

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tilecore.Bundle {self.path}: {len(self)} kernels for {', '.join(self.targets)}>"

    # -- internals

    def _labels_of(self, label: object) -> list[str]:
        """The labels that a text may mean: itself, else those that differ from it in white space and quotes only."""
        if not isinstance(label, str):
            return []
        return [label] if label in self._by_label else self._by_plain_label.get(plain_label(label), [])

    @cached_property
    def _by_plain_label(self) -> dict[str, list[str]]:
        labels: dict[str, list[str]] = {}
        for label in self._by_label:
            labels.setdefault(plain_label(label), []).append(label)
        return labels

    def _refuse_ambiguous(self, name: str, records: Sequence[KernelRecord]) -> None:
        """Raises ArgumentError where different kernels for one target were made for arguments of the same text."""
        kernels: dict[tuple[str, str, str], set[Any]] = {}
        for record in records:
            kernels.setdefault((record.target, record.adapter, record.machine), set()).add(record.binary)
        if any(len(binaries) > 1 for binaries in kernels.values()):
            labels = list(dict.fromkeys(record.label for record in records))
            raise ArgumentError(
                f"{self.path} has several kernels {name} whose arguments have the same text",
                found=some(labels),
                hint=f"take one by its label: bundle[{labels[0]!r}]",
            )

    def _load(self, label: str, records: Sequence[KernelRecord], target: Any) -> JITKernel:
        record = self._best(records, target)
        if record is None:
            raise nothing_for(self.path, label, records, target, self._wanted(records, target))
        return self._kernel(record, may_be_absent=target is not None)

    def _kernel(self, record: KernelRecord, *, may_be_absent: bool = False) -> JITKernel:
        kernel = self._loaded.get(record)
        if kernel is None:
            with self._lock:
                kernel = self._loaded.get(record)
                if kernel is None:
                    resolved = self._resolve(record.target)
                    load = kernel_of_any_device if may_be_absent else kernel_of
                    kernel = self._loaded[record] = load(self._file.artifact(record), resolved)
                    kernel.from_cache = True
        return kernel

    def _best(self, records: Sequence[KernelRecord], target: Any) -> KernelRecord | None:
        """The record whose target fits best, of the execution backends that are available here the first one."""
        wanted = self._wanted(records, target)
        for kind, resolved in wanted.items():
            backend = manager.get(kind)
            for adapter in backend.adapters:
                same = [r for r in records if r.adapter == adapter and Target.parse(r.target).kind == kind]
                machine = "" if target is None else backend.adapters[adapter].machine(resolved)
                best = layers.best_of(same, partial(self._fit, adapter, resolved), machine)
                if best is not None:
                    return best
        return None

    def _wanted(self, records: Sequence[KernelRecord], target: Any) -> dict[str, Target]:
        """By kind, the target to find a kernel for: the one that is named, or those of the devices of this machine,
        real devices first."""
        if target is not None:
            resolved = manager.resolve(target)[1]
            return {resolved.kind: resolved}
        kinds = {Target.parse(record.target).kind for record in records}
        devices = {kind: self._device(kind) for kind in sorted(kinds, key=lambda kind: (kind == HOST_KIND, kind))}
        return {kind: device for kind, device in devices.items() if device is not None}

    def _device(self, kind: str) -> Target | None:
        """The target of this machine's device of a kind, None where there is none; looked for once."""
        if kind not in self._devices:
            try:
                present = manager.target_spec(kind).detect().present
                self._devices[kind] = manager.resolve(kind)[1] if present else None
            except TilecoreError:  # its package is not installed, or is broken
                self._devices[kind] = None
        return self._devices[kind]

    def _resolve(self, text: str) -> tuple[Backend, Target]:
        if text not in self._resolved:
            self._resolved[text] = manager.resolve(text)
        return self._resolved[text]

    def _fit(self, adapter: str, wanted: Target, compiled_for: str) -> int:
        key = (adapter, compiled_for, str(wanted))
        fit = self._fits.get(key)
        if fit is None:
            try:
                fit = manager.get(wanted.kind).adapters[adapter].fit(Target.parse(compiled_for), wanted)
            except TilecoreError:  # a target of another version of the package
                fit = 0
            self._fits[key] = fit
        return fit


@keywords_checked
def load_bundle(path: str | os.PathLike[str], *, signed_by: str | os.PathLike[str] | None = None) -> Bundle:
    """The kernels of a bundle, a file that ``tilecore compile`` wrote. Needs neither TVM nor a compiler.

    The file must be trusted: it belongs to root or to the user of this process and nobody else can write to it, or it
    is signed by a key of TILECORE_TRUSTED_KEYS. signed_by: an Ed25519 public key ("ssh-ed25519 AAAA...", or PEM), or a
    file of them; then it must be signed by one of these.

    Raises BundleError for files that are missing, damaged or of another version, UntrustedError (both are CacheErrors).
    """
    from tilecore.whole_files import path_text

    file = BundleFile(path_text(path, "load_bundle(): path"))
    try:
        require_trusted(file, signed_by)
        return Bundle(file)
    except BaseException:
        file.close()
        raise
