"""Describes who owns a file or directory, whether it is trusted for that, and what to do where it is not."""

from __future__ import annotations

import os
import sys


def why_not_trusted(path: str, facts: os.stat_result) -> str:
    """Why a file or directory is not trusted by its owner and its mode, with the remedy.

    facts: what ``stat`` returned. Trusted are files of root and of the same user that nobody else can write to.
    """
    mine: int = getattr(os, "geteuid", lambda: 0)()  # where there is none, owners do not count (layout.py)
    if facts.st_uid not in (0, mine):
        return (
            f"{path} belongs to {user_text(facts.st_uid)}, and this process runs as {user_text(mine)}; "
            f"trusted are files of root and of the same user: chown -R root {path}"
        )
    return f"{path} can be written to by others (mode {facts.st_mode & 0o7777:o}): chmod -R go-w {path}"


def why_trusted(facts: os.stat_result) -> str:
    """Why a file or directory is trusted by its owner and its mode. facts: as of :func:`why_not_trusted`."""
    if not hasattr(os, "geteuid"):
        return "files are not told apart by their owners on this system"
    return f"it belongs to {user_text(facts.st_uid)}, and nobody else can write to it"


def user_text(uid: int) -> str:
    """The user's name and number."""
    if sys.platform == "win32":
        return f"user {uid}"
    try:
        import pwd

        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    except (ImportError, KeyError):  # a Python without the module, or a number without a name
        return f"user {uid}"
