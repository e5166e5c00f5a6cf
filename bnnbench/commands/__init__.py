"""The command line for suites and stores."""
