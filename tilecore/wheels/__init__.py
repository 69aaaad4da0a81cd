"""Installs wheels on PyPI in the folder of a target's toolchain, for ``tilecore toolchain install``."""
