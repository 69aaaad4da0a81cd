"""What code objects tell without a GPU: registers, memory, occupancy, instructions, and a model of time."""
