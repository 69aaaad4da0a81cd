"""Finding, installing and calling the vendor's tools."""
