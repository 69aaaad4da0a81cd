"""``tilecore new-backend``: writes the package of a backend that works, on a simulated device, before it is edited."""
