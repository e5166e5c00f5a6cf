"""Health checks of tables, and the rule by which a table counts in comparisons over data sets."""
