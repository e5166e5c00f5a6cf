"""The command line for suites and stores."""

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "list": ("bnnbench.commands.list", "list suites and methods"),
    "methods": ("bnnbench.commands.methods", "list methods, or describe one"),
    "check": ("bnnbench.commands.check", "check a method's contract on small problems"),
    "report": ("bnnbench.commands.report", "write the report of a folder of results"),
    "site": ("bnnbench.commands.site", "build the board and its pages from a bundle"),
    "try": ("bnnbench.commands.try_method", "compare your method with all finished runs"),
    "compare": ("bnnbench.commands.compare", "compare all methods on your own data"),
    "predict": (
        "bnnbench.commands.predict",
        "predict rows of a file by the model that compare saved",
    ),
    "posthoc": (
        "bnnbench.commands.posthoc",
        "compare treatments of your trained network",
    ),
    "bundle": (
        "bnnbench.commands.bundle",
        "store finished runs as one small file",
    ),
    "submit": (
        "bnnbench.commands.submit",
        "pack a method's runs into one file for submission",
    ),
    "admit": (
        "bnnbench.commands.admit",
        "check a submitted file and add it to a bundle",
    ),
    "score": (
        "bnnbench.commands.score",
        "score predictions made by another program",
    ),
    "export": (
        "bnnbench.commands.export",
        "write finished runs in the columns of a public board",
    ),
    "data": ("bnnbench.commands.data", "list, download and describe data sets"),
    "corruptions": ("bnnbench.commands.corruptions", "generate CIFAR-10-C and CIFAR-100-C"),
    "truth": (
        "bnnbench.commands.truth",
        "make, verify, sbc, list: certified posteriors, and problems with a known distribution",
    ),
    "store": (
        "bnnbench.commands.store",
        "check, clean, list and merge results",
    ),
    "short-gpu": (
        "bnnbench.commands.short_gpu",
        "run a paper's profile in short sessions on a GPU",
    ),
    "repeat": (
        "bnnbench.commands.repeat",
        "re-run a stored run, or one run of each method of a bundle, and compare",
    ),
    "completion": (
        "bnnbench.commands.completion",
        "print a script for a shell's completion",
    ),
}
"""Command → the module whose `main(arguments)` runs it, and its summary."""
