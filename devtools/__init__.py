"""The parts of dev.py, the script that sets the workspace up and checks it. They need only Python."""
