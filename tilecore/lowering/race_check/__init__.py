"""Proves that a kernel has no race in shared memory; independent of the passes that insert barriers."""
