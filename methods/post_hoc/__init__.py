"""Methods that correct the predictions of another method by rows that it was not fitted to."""
