"""From one run to one record."""
