"""The metrics of every table, grouped by what they score."""
