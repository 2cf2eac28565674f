"""Packaged tables of the core: regions and GPU model names."""
