"""Does the conformance kit catch bugs? They are planted in a sample backend: ``python -m benchmarks.mutations``."""
