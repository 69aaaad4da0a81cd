"""Figures of emitted kernels: what a threadgroup needs, and a model of time. Nothing here was measured."""
