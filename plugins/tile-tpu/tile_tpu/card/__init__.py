"""Runs kernels on a card: through the vendor's runtime, or through its extension of torch."""
