"""The tile operations: each group in a file of its own."""
