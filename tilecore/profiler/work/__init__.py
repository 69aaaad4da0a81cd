"""Counts the work of a kernel from its tile IR: the operations that it executes and the bytes that it moves."""
