"""Whether this user may use the GPUs that the kernel driver (amdkfd) has."""

from __future__ import annotations

import os
from pathlib import Path

DOOR = Path("/dev/kfd")  # what programs open to use the GPUs


def permission_problem(door: Path = DOOR) -> str:
    """Why this user cannot use the GPUs that the kernel driver has; "" where nothing is known."""
    if not door.exists() or os.access(door, os.R_OK | os.W_OK):
        return ""
    return f"this user may not open {door}: add the user to the groups render and video, and log in again"
