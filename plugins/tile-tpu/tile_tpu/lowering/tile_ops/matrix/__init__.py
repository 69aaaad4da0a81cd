"""Matrix products of tiles on the matrix unit."""
