"""Predictions for files of measurements: one kind of file a module, told apart by their columns.

Each module has `predict(frame, catalog)`, which returns a row for each figure that it was asked for: `id, family,
metric, measured, predicted, low, high, reason, feasible`. A figure that it cannot predict has a `reason` and no
`predicted`; a measured plan that we call infeasible has `feasible` false.
"""

from planner.validation.menu import TASKS, Task, task_of

__all__ = ["TASKS", "Task", "task_of"]
