"""A trained model: its arrays, attention weights, logits, and gradients at any parameters."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy

from . import _arrays, _engine
from ._progress import Progress, listener
from .results import Settings


class Gradients(NamedTuple):
    """Mean cross-entropy over the training samples and its gradients, in float64."""

    loss: float
    #: Gradient with respect to the value matrix, ``[dim, dim]``, or ``[dim, width]`` with an MLP.
    m: numpy.ndarray
    #: Gradient with respect to the attention matrix, ``[dim, dim]``.
    w: numpy.ndarray


class Model:
    """A model after the three steps, with its embeddings and data: the tensors of ``superpose run --export``.

    Arrays are read-only views of the engine's memory in the configuration's precision; ``tokens``, ``position`` and ``labels`` are
    read-only 64-bit copies. DLPack gets copies, because its consumers may ignore that an array is read-only. A model can be pickled: it
    is trained again, with the same bits, when it is loaded. In the exact regime
    ``m1``, ``w1``, ``m2`` are the matrices after each step; in the infinitesimal regime they are per unit of rate.

    >>> import superpose
    >>> model = superpose.Config(vocab=64, dim=128, samples=4096).model()
    >>> model.attention().shape, model.logits().shape
    ((4096, 16), (4096, 64))
    >>> recalled = (model.logits().argmax(1) == model.labels).mean()
    >>> bool(recalled > 0.8)
    True
    """

    __slots__ = ("_model", "_source", "__dict__")

    def __init__(self, model: _engine.Model, source: Tuple[_engine.Config, Dict[str, numpy.ndarray]]) -> None:
        self._model = model
        # What it was made from: the configuration and the arrays given.
        self._source = source

    def __deepcopy__(self, memo: Any) -> "Model":
        # It is immutable.
        return self

    def __reduce__(self) -> Any:
        return _model, self._source

    def _tensor(self, name: str) -> numpy.ndarray:
        array = self._model.tensor(name)
        return None if array is None else _arrays.guarded(array)

    @cached_property
    def config(self) -> Settings:
        """The configuration, with sizes from the arrays that were passed."""
        return Settings(json.loads(self._model.config()))

    @property
    def z_in(self) -> numpy.ndarray:
        """Input embeddings, one row per token; noise tokens last."""
        return self._tensor("z_in")

    @property
    def z_out(self) -> numpy.ndarray:
        """Output embeddings, one row per label."""
        return self._tensor("z_out")

    @property
    def z_trig(self) -> numpy.ndarray:
        """The trigger vector."""
        return self._tensor("z_trig")

    @property
    def z_eos(self) -> numpy.ndarray:
        """The end-of-sequence vector."""
        return self._tensor("z_eos")

    @property
    def w_in(self) -> Optional[numpy.ndarray]:
        """First layer of the MLP; ``None`` for the attention-only model."""
        return self._tensor("w_in")

    @property
    def m1(self) -> numpy.ndarray:
        """The value matrix after step 1."""
        return self._tensor("m1")

    @property
    def w1(self) -> numpy.ndarray:
        """The attention matrix after step 2."""
        return self._tensor("w1")

    @property
    def m2(self) -> numpy.ndarray:
        """The value matrix after step 3."""
        return self._tensor("m2")

    @cached_property
    def tokens(self) -> numpy.ndarray:
        """Training sequences, one row per sample."""
        return self._tensor("tokens")

    @cached_property
    def position(self) -> numpy.ndarray:
        """The informative position of every training sample."""
        return self._tensor("position")

    @cached_property
    def labels(self) -> numpy.ndarray:
        """The label of every training sample."""
        return self._tensor("labels")

    @property
    def gamma(self) -> float:
        """Rate of step 2."""
        return self._model.rates()[0]

    @property
    def eta2(self) -> float:
        """Rate of step 3."""
        return self._model.rates()[1]

    @property
    def trigger_sign(self) -> int:
        """1 if step 2 learned to attend to the trigger, -1 if it learned to attend away from it, 0 if it learned nothing."""
        return self._model.rates()[2]

    def tensors(self) -> Dict[str, numpy.ndarray]:
        """Returns all arrays by name, as in ``--export``."""
        names = ("z_in", "z_out", "z_trig", "z_eos", "w_in", "tokens", "position", "labels", "m1", "w1", "m2")
        arrays = {name: getattr(self, name) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def attention(
        self, tokens: Any = None, position: Any = None, *, w: Any = None, threads: Optional[int] = None
    ) -> numpy.ndarray:
        """Returns attention weights over positions, one row per sequence: for the training samples, or for other ``tokens`` with the
        trigger at ``position``; with the trained attention matrix, or with another one, ``w``."""
        w, tokens, position = _arrays.maybe("w", w), _arrays.maybe("tokens", tokens), _arrays.maybe("position", position)
        return self._model.attention(w, tokens, position, threads)

    def logits(
        self,
        tokens: Any = None,
        position: Any = None,
        *,
        m: Any = None,
        w: Any = None,
        threads: Optional[int] = None,
    ) -> numpy.ndarray:
        """Returns logits over labels, one row per sequence, for the sequences and ``w`` of :meth:`attention`, with ``m2`` or another
        value matrix ``m``."""
        m, w = _arrays.maybe("m", m), _arrays.maybe("w", w)
        tokens, position = _arrays.maybe("tokens", tokens), _arrays.maybe("position", position)
        return self._model.logits(m, w, tokens, position, threads)

    def noise_parts(self, tokens: Any = None, position: Any = None, *, threads: Optional[int] = None) -> Dict[str, numpy.ndarray]:
        """Returns the parts of the logits by name, one row per sequence and one column per label, for the sequences of :meth:`attention`:
        ``signal``, ``mean_bias``, ``interference``, ``gradient_noise``, ``output_overlap``, ``mlp_noise`` and ``attention_leak``. They add up to
        the logits, in the infinitesimal regime and for labels that depend on the informative token alone.

        Args:
            tokens: sequences, a row each; ``None``: the training samples.
            position: the position of the trigger in each.
            threads: as for :meth:`Config.run`.

        >>> import numpy, superpose
        >>> model = superpose.Config(vocab=64, dim=32, samples=1000, precision="f64").model()
        >>> parts = model.noise_parts()
        >>> bool(numpy.allclose(sum(parts.values()), model.logits()))
        True
        """
        names, rows = self._model.noise_parts(_arrays.maybe("tokens", tokens), _arrays.maybe("position", position), threads)
        parts = rows.reshape(len(rows), len(names), -1)
        return {name: parts[:, i] for i, name in enumerate(names)}

    def gradients(self, m: Any, w: Any, *, threads: Optional[int] = None, progress: Progress = None) -> Gradients:
        """Returns the exact loss over the training samples and its gradients at any value matrix ``m`` and attention matrix ``w``.

        >>> import numpy, superpose
        >>> model = superpose.Config(vocab=16, dim=8, samples=200, precision="f64").model()
        >>> zero = numpy.zeros((8, 8))
        >>> loss, by_m, by_w = model.gradients(zero, zero)
        >>> bool(abs(loss - numpy.log(16)) < 1e-12), bool(numpy.allclose(by_m, -model.m1)), bool(by_w.any())
        (True, True, False)
        """
        with listener(progress) as tell:
            m, w = _arrays.array("m", m), _arrays.array("w", w)
            return Gradients(*self._model.gradients(m, w, threads, tell))

    def __repr__(self) -> str:
        c = self.config
        mlp = f", width={c.width}" if c.width else ""
        return f"Model(vocab={c.vocab}, dim={c.dim}, length={c.length}, samples={c.samples}{mlp}, precision={c.precision!r})"


def _model(config: _engine.Config, arrays: Dict[str, numpy.ndarray]) -> Model:
    return Model(_engine.Model(config, arrays, None, None), (config, arrays))
