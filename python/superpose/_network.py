"""The network of a training run: its arrays, activations and gradients on any sequences, and pure training steps."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy

from . import _arrays, _engine
from ._given import wrong
from ._task import Array, Data
from .results import Settings


class LossGradients(NamedTuple):
    """Mean cross-entropy over sequences, and its gradients by name, in float64."""

    loss: float
    gradients: Dict[str, Array]


class Network:
    """A network of any number of heads with the state of its optimiser. It is immutable: :meth:`step` and :meth:`replace` return another one.

    ``config.network()`` is the network before its first step, ``training.model`` the one after the last. Without sequences, methods take the
    training samples, :attr:`data`.

    >>> import superpose
    >>> config = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=40, rate=0.05, heads=2)
    >>> network = config.network()
    >>> for _ in range(40):
    ...     network = network.step()
    >>> trained = config.train()
    >>> bool((network.tensors()["m"] == trained.tensors()["m"]).all())
    True
    >>> network.attention().shape, network.logits().shape
    ((1000, 2, 4), (1000, 32))
    """

    __slots__ = ("_network", "_source", "__dict__")

    def __init__(self, network: _engine.Network, source: Tuple[_engine.Config, Dict[str, Array]]) -> None:
        self._network = network
        # What it was made from: the configuration and the arrays given.
        self._source = source

    @cached_property
    def config(self) -> Settings:
        """The configuration, with sizes from the arrays that were passed."""
        return Settings(json.loads(self._network.config()))

    @cached_property
    def data(self) -> Data:
        """The training samples, read-only."""
        return Data(*map(_arrays.guarded, self._network.data()))

    @property
    def steps_taken(self) -> int:
        """Number of steps taken."""
        return self._network.steps()

    @property
    def trained(self) -> Tuple[str, ...]:
        """Names of the arrays that are trained."""
        return tuple(self._network.trained())

    def tensors(self) -> Dict[str, Array]:
        """Returns all arrays by name, trained or not, in the configuration's precision, read-only. With several heads, ``m`` has their value
        matrices side by side, and ``w`` their attention matrices stacked vertically. With ``factored``, ``key`` and ``query`` take the
        place of ``w``."""
        return {name: _arrays.guarded(self._network.tensor(name)) for name in self._network.names()}

    def cache(
        self, tokens: Any = None, position: Any = None, *, names: Optional[Iterable[str]] = None, threads: Optional[int] = None
    ) -> Dict[str, Array]:
        """Returns activations by name, a row per sequence: ``scores`` and ``attention`` ``[n, heads, length]``, ``head`` ``[n, heads, dim]``,
        ``before`` (the input of the activation function, with an MLP), ``features``, ``output`` ``[n, dim]`` and ``logits`` ``[n, labels]``.

        Args:
            tokens: sequences, a row each; ``None``: the training samples.
            position: the position of the trigger in each.
            names: the activations to return; ``None``: all that the network has.
            threads: as for :meth:`Config.run`.
        """
        every = ["scores", "attention", "head", "before", "features", "output", "logits"]
        wanted = [name for name in every if name != "before" or self.config.get("width")] if names is None else _names("names", names)
        return self._network.activations(wanted, _arrays.maybe("tokens", tokens), _arrays.maybe("position", position), threads)

    def attention(self, tokens: Any = None, position: Any = None, *, threads: Optional[int] = None) -> Array:
        """Returns attention weights, ``[n, heads, length]``, as :meth:`cache` does."""
        return self.cache(tokens, position, names=["attention"], threads=threads)["attention"]

    def logits(self, tokens: Any = None, position: Any = None, *, threads: Optional[int] = None) -> Array:
        """Returns logits, ``[n, labels]``, as :meth:`cache` does."""
        return self.cache(tokens, position, names=["logits"], threads=threads)["logits"]

    def gradients(
        self,
        tokens: Any = None,
        position: Any = None,
        labels: Any = None,
        *,
        by: Optional[Iterable[str]] = None,
        threads: Optional[int] = None,
    ) -> LossGradients:
        """Returns the mean cross-entropy over a batch and its gradients.

        Args:
            tokens: sequences, a row each; ``None``: the training samples.
            position: the position of the trigger in each.
            labels: the label of each.
            by: names of arrays to differentiate by, such as ``["m", "w", "z_in", "z_out"]``; ``None``: those that are trained.
            threads: as for :meth:`Config.run`.

        >>> import superpose
        >>> network = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=1).network()
        >>> data = network.data
        >>> loss, gradients = network.gradients(data.tokens[:50], data.position[:50], data.labels[:50], by=["m", "z_out"])
        >>> {name: array.shape for name, array in gradients.items()}
        {'m': (16, 16), 'z_out': (32, 16)}
        """
        names = self._network.trained() if by is None else _names("by", by)
        given = _batch(tokens, position, labels)
        return LossGradients(*self._network.gradients(names, *given, threads))

    def step(self, tokens: Any = None, position: Any = None, labels: Any = None, *, threads: Optional[int] = None) -> "Network":
        """Returns the network after one step of the configured optimiser on a batch; this one does not change.

        Args:
            tokens: sequences, a row each; ``None``: the training samples.
            position: the position of the trigger in each.
            labels: the label of each.
            threads: as for :meth:`Config.run`.
        """
        return Network(self._network.step(*_batch(tokens, position, labels), threads)[1], self._source)

    def replace(self, **tensors: Any) -> "Network":
        """Returns the network with some arrays replaced, by name; the optimiser's state stays."""
        arrays = {name: _arrays.array(name, value) for name, value in tensors.items()}
        return Network(self._network.replaced(arrays), self._source)

    def __repr__(self) -> str:
        c = self.config
        heads = c.get("heads", 1)
        return f"Network(vocab={c.vocab}, dim={c.dim}, length={c.length}, heads={heads}, steps_taken={self.steps_taken})"

    def __deepcopy__(self, memo: Any) -> "Network":
        return self

    def __reduce__(self) -> Any:
        tensors = {name: numpy.array(array) for name, array in self.tensors().items()}
        return _network, (self._source, tensors, self._network.memory())


def _names(parameter: str, names: Any) -> List[str]:
    found = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in found):
        raise wrong(parameter, names, "a name or a list of names")
    return found


def _batch(tokens: Any, position: Any, labels: Any) -> Tuple[Optional[Array], Optional[Array], Optional[Array]]:
    given = (_arrays.maybe("tokens", tokens), _arrays.maybe("position", position), _arrays.maybe("labels", labels))
    if any(array is None for array in given) and any(array is not None for array in given):
        raise ValueError("tokens, position and labels belong together: give all of them, or none")
    return given


def _network(source: Any, tensors: Dict[str, Array], memory: Any) -> Network:
    config, arrays = source
    return Network(_engine.Network(config, arrays, None).replaced(tensors, memory), source)
