"""Readers that sort records into benchmarks that can be compared."""
