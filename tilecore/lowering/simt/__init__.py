"""The SIMT family: targets whose blocks are many threads with shared memory (docs/simt.md)."""
