"""Files of reference posteriors: draws of functions, and the certificates that come with them."""
