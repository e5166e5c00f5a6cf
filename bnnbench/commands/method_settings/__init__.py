"""Methods as the command line names them: their settings, labels and description."""
