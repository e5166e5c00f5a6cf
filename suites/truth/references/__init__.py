"""Reference posteriors: models stated to the last digit, their draws and certificates."""
