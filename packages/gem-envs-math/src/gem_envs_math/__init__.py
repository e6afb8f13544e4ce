"""Mathematics for language-model agents: word problems, algebra, drawn geometry, the published data sets, and a grader."""

__version__ = "0.1.0"
