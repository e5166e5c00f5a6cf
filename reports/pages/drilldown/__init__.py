"""The runs behind numbers: dialogs of reports, and pages of the site."""
