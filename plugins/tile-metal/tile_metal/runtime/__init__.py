"""Runs kernels on Apple GPUs: through torch, and through Metal itself by the Objective-C runtime."""
