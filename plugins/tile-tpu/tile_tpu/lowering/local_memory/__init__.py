"""Addresses in local memory, and the analyses of local buffers that they need."""
