"""Reference posteriors: exactly stated models, their draws and certificates."""
