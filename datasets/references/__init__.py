"""Files of reference posteriors: draws of functions, and their certificates."""
