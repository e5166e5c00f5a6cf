"""What the store kept, as pages, tables and figures. A report is a function of records."""
