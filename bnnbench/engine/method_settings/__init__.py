"""Methods on the command line: settings, labels and descriptions."""
