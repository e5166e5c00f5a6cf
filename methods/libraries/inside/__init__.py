"""What runs inside of another library's environment: of bnnbench, only this folder exists there."""
