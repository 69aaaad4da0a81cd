"""``tilecore.cuda.debug``: checks in kernels."""

from tilecore.language import device_assert

__all__ = ["device_assert"]
