"""The record of a published wheel, and of what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Wheel:
    """A published wheel.

    project, version: on PyPI. file: its name. file_bytes, sha256: of the file. unpacked_bytes: of what is kept of it.
    is_needed: function of a member's name, whether it is kept. required: the names of members that must be in it.
    executables: the names of members that are programs.
    pip_options: the options by which pip chooses this file, whatever Python and machine it runs on.
    """

    project: str
    version: str
    file: str
    file_bytes: int
    sha256: str
    unpacked_bytes: int
    is_needed: Callable[[str], bool]
    required: tuple[str, ...]
    executables: tuple[str, ...] = ()
    pip_options: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The name of the folder that it is unpacked to."""
        return f"{self.project}-{self.version}"

    @property
    def pip_arguments(self) -> list[str]:
        """The arguments of pip that download it to the current folder."""
        options = ["--no-deps", "--only-binary=:all:", *self.pip_options]
        return ["download", *options, f"{self.project}=={self.version}"]
