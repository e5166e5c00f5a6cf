"""Programs run in another library's environment. Nothing else of bnnbench is available there."""
