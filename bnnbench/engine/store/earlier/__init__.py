"""Records of earlier schemas, migrated for reports."""
