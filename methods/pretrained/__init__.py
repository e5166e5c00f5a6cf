"""Networks that were trained on tables of other data and read the training rows as context."""
