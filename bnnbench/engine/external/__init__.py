"""External predictions: read, checked, scored and recorded."""
