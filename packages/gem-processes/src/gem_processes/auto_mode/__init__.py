"""``mode="auto"``: the mode of a vector environment, chosen by what its steps cost."""

from gem_processes.auto_mode.mode_choice import ModeChoice, StepCost

__all__ = ["ModeChoice", "StepCost"]
