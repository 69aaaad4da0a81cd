"""Proof that barriers order what threads do in shared memory; independent of the passes that put the barriers."""
