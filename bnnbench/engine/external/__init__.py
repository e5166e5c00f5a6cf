"""Predictions that were made elsewhere: read, checked, scored and recorded."""
