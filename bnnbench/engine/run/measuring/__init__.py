"""Measurements around a fit: time, memory, energy, checksums, provenance."""
