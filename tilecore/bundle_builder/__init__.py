"""Writes bundles: compiles the kernels that a Python file declares for several targets (``tilecore compile``)."""
