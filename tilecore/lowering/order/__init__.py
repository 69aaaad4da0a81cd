"""Proof that barriers order what the threads of a block do in shared memory; independent of the passes that put them."""
