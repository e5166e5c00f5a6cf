"""Stored results as pages, tables and figures. A report is a function of records."""

if __name__ == "reports":  # `bnnbench report`, in a checkout
    from bnnbench.checkout import run_as_bnnbench

    run_as_bnnbench(__name__)
