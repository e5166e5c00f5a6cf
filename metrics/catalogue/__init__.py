"""The metrics of every table, one line each, by what they score."""
