"""The sources of a compiled kernel: text to read, print and write to files, under TileLang's names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tilecore.errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

_PARTS = ("kernel", "host", "both")


class KernelSources:
    """What a kernel was emitted as."""

    artifact: Artifact

    @property
    def kernel_source(self) -> str:
        """The source that was emitted for the device."""
        return self.artifact.source

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The source that was emitted for the device."""
        return self.artifact.source

    def get_host_source(self) -> str:
        """The C source of the host's part of a launch, where there is any."""
        return ""

    @property
    def host_source(self) -> str:
        """See ``get_host_source()``."""
        return self.get_host_source()

    def _part(self, which: str) -> str:
        if which not in _PARTS:
            raise ArgumentError(
                f"{self.artifact.name} has no source {which!r}",
                found=repr(which),
                expected=" or ".join(f'"{part}"' for part in _PARTS),
            )
        parts = {"kernel": [self.artifact.source], "host": [self.get_host_source()]}
        return "\n\n".join(part for part in parts.get(which, parts["kernel"] + parts["host"]) if part)

    def show_source(self, which: str = "kernel") -> None:
        """Print the emitted source. which: "kernel" for the device's, "host" for the host's, "both"."""
        print(self._part(which))

    def print_source_code(self, which: str = "kernel", file: str | os.PathLike[str] | None = None) -> None:
        """Print the emitted source, or write it to a file. which: as for :meth:`show_source`."""
        if file is None:
            self.show_source(which)
        else:
            _write(file, self._part(which))

    def export_sources(
        self, kernel_path: str | os.PathLike[str] | None = None, host_path: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the emitted source to a file, and the host's to another. Raises ArgumentError where none is named."""
        if kernel_path is None and host_path is None:
            raise ArgumentError(
                f"{self.artifact.name}.export_sources() names no file", expected="kernel_path, host_path or both"
            )
        if kernel_path is not None:
            _write(kernel_path, self.get_kernel_source())
        if host_path is not None:
            _write(host_path, self.get_host_source())

    # -- assembly, which belongs to the tools of a chip's vendor ------------------------------------------------

    def show_ptx(self) -> None:
        """Raises UnsupportedError, with what to do."""
        self._no_assembly()

    def export_ptx(self, path: Any) -> None:
        """Raises UnsupportedError, with what to do."""
        self._no_assembly()

    def show_sass(self) -> None:
        """Raises UnsupportedError, with what to do."""
        self._no_assembly()

    def export_sass(self, path: Any) -> None:
        """Raises UnsupportedError, with what to do."""
        self._no_assembly()

    def _no_assembly(self) -> None:
        raise UnsupportedError(
            f"{self.artifact.name} keeps no assembly text",
            found=f"a binary of format {self.artifact.binary_format!r}",
            expected="its source: get_kernel_source(), export_sources(path)",
            hint="TILECORE_DUMP=FOLDER writes the binary to a file, which the vendor's disassembler prints",
        )


def _write(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text to a file, in a folder that is made if there is none."""
    from tilecore.whole_files import file_path, write_whole

    write_whole(file_path(path), text)
