"""Results on a hub: signed records over the episodes of one agent in one environment.

The format lives here, in the lowest package that all three sides import: gem-eval makes a record of a run folder and
checks it again, the registry of gem-hub admits it, and this client reads it without either of them.
"""
