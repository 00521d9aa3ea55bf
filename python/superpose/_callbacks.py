"""Functions of the caller inside an experiment, as the engine calls them."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Tuple

from . import _arrays
from ._decoding import Decoder, FirstStep
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


def engine_decoder(decoder: Optional[Decoder]) -> Optional[Callable[..., Any]]:
    """The decoder as the engine calls it: it returns labels."""
    if decoder is None:
        return None
    if not callable(decoder):
        raise wrong("decoder", decoder, "a function of a FirstStep")

    def call(*step: Any) -> Array:
        answer = _arrays.array("labels of the decoder", decoder(FirstStep(*step)))
        return answer.argmax(axis=1) if answer.ndim == 2 else answer

    return call
