"""Lowers tile operations to commands of the tensor unit and DMA: atomics, reductions, scans, and matrix products."""
