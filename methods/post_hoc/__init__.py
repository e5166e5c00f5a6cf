"""Methods that correct another method's predictions with rows that it was not fitted to."""
