"""The command line of suites and stores."""
