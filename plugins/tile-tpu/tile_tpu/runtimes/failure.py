"""What goes wrong in a runtime library."""

from __future__ import annotations


class RuntimeFailure(Exception):
    """A call of the vendor's runtime did not succeed, or a kernel wrote where it must not; the message says it all."""
