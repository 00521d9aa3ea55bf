"""Functions of the caller inside a training run, as the engine calls them."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Tuple

from . import _arrays
from ._given import wrong
from ._task import Array
from ._training import Hook, Loss, Step, Stop


def engine_hook(hook: Optional[Hook]) -> Optional[Callable[..., Any]]:
    """The hook as the engine calls it: ``None`` to go on, a dictionary of arrays, or ``False`` to stop."""
    if hook is None:
        return None
    if not callable(hook):
        raise wrong("hook", hook, "a function of a Step")

    def call(*step: Any) -> Any:
        answer = hook(Step(*step))
        if answer is None or isinstance(answer, Stop):
            return None if answer is None else False
        if not isinstance(answer, Mapping):
            raise wrong("what the hook returned", answer, "None, superpose.STOP, or a dictionary of arrays by name")
        return _arrays.tensors(dict(answer))

    return call


def engine_loss(loss: Optional[Loss]) -> Optional[Callable[..., Any]]:
    """The loss as the engine calls it."""
    if loss is None:
        return None
    if not callable(loss):
        raise wrong("loss", loss, "a function of logits and labels")

    def call(logits: Array, labels: Array) -> Tuple[float, Array]:
        value, derivatives = loss(logits, labels)
        return float(value), _arrays.array("dlogits", derivatives)

    return call
