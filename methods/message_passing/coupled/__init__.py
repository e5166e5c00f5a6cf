"""Groups of examples whose messages take each other into account."""
