"""Functions of the caller inside an experiment, as the engine calls them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Callable, Mapping, Optional, Tuple

import numpy

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
        number, rate, loss, parameters, gradients = step
        # Read-only, so that an entry that is replaced in place is an error and not ignored.
        answer = hook(Step(number, rate, loss, MappingProxyType(parameters), MappingProxyType(gradients)))
        if answer is None or isinstance(answer, Stop):
            return None if answer is None else False
        if not isinstance(answer, Mapping):
            raise wrong("what the hook returned", answer, "None, superpose.STOP, or a dictionary of arrays by name")
        if any(not isinstance(name, str) for name in answer):
            raise wrong("what the hook returned", answer, "a dictionary of arrays by name, such as {'m': ...}")
        missing = [name for name, array in answer.items() if array is None]
        if missing:
            raise wrong(f"what the hook returned for {missing[0]}", None, "an array; leave out a name that the optimiser moves")
        return _arrays.tensors(dict(answer))

    return call


def engine_loss(loss: Optional[Loss]) -> Optional[Callable[..., Any]]:
    """The loss as the engine calls it."""
    if loss is None:
        return None
    if not callable(loss):
        raise wrong("loss", loss, "a function of logits and labels")

    def call(logits: Array, labels: Array) -> Tuple[float, Array]:
        answer = loss(logits, labels)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not _is_number(answer[0]):
            shape = list(logits.shape)
            raise wrong("what the loss returned", answer, f"the loss, a number, and its derivatives by the logits, an array of shape {shape}")
        return float(answer[0]), _arrays.array("dlogits", answer[1])

    return call


def _is_number(value: Any) -> bool:
    """Whether a value is one real number, of Python, NumPy or another library."""
    kind = numpy.asarray(value).dtype.kind if isinstance(value, (int, float, numpy.generic, numpy.ndarray)) else None
    return getattr(value, "shape", ()) == () and (kind in ("i", "u", "f") if kind else hasattr(value, "__float__"))


def engine_decoder(decoder: Optional[Decoder]) -> Optional[Callable[..., Any]]:
    """The decoder as the engine calls it: it returns labels."""
    if decoder is None:
        return None
    if not callable(decoder):
        raise wrong("decoder", decoder, "a function of a FirstStep")

    def call(*step: Any) -> Array:
        given = FirstStep(*step)
        answer, tokens = _arrays.array("labels of the decoder", decoder(given)), len(given.z_in)
        kinds = {(tokens,): "iu", (tokens, tokens): "iuf"}
        if answer.dtype.kind not in kinds.get(answer.shape, ""):
            allowed = f"whole labels, [{tokens}], or real scores, [{tokens}, {tokens}]"
            raise ValueError(f"the decoder returned {answer.dtype} of shape {list(answer.shape)}: must be {allowed}")
        if answer.ndim == 1:
            return answer
        if not numpy.isfinite(answer).all():
            raise ValueError("the decoder returned scores that are not finite: all must be")
        largest: Array = numpy.argmax(answer, axis=1)
        return largest

    return call
