"""The arrays and the task that a call takes in place of what would be drawn."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from . import _arrays
from ._given import wrong
from ._task import Array, Task


def inputs(task: Optional[Task], arrays: Mapping[str, Any]) -> Dict[str, Array]:
    """Returns a task and the keywords of a call that name inputs of a run as NumPy arrays by name. Another name is a ``TypeError``."""
    found = _arrays.inputs(arrays)
    if task is None:
        return found
    if not isinstance(task, Task):
        raise wrong("task", task, "a superpose.Task")
    given = task.arrays()
    twice = [name for name in given if name in found]
    if twice:
        raise ValueError(f"{', '.join(twice)} given together with a task, which has them; give them once")
    return {**found, **given}


def taken(keys: Dict[str, Any]) -> Dict[str, Array]:
    """Removes a task and embeddings from the keywords of a call, and returns them as NumPy arrays by name."""
    return inputs(keys.pop("task", None), _arrays.embeddings(keys))
