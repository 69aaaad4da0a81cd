"""Loads code objects on devices and launches their kernels."""
