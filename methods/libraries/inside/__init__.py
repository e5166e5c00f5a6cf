"""The programs in another library's environment, where only this folder of bnnbench exists."""
