"""Records of earlier schemas, for reports."""
