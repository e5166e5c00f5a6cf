"""From records to benchmarks that can be compared."""
