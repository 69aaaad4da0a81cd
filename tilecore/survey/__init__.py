"""What every target makes of every kernel of a file: compiled without a device, with all that each target refuses."""
