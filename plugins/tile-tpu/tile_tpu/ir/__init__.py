"""The data types of the lowering: layouts of tiles, views of memory, instructions, and analyses of their accesses."""
