"""Published sets of software engineering tasks: their rows, the logs of their tests, their verdicts."""
