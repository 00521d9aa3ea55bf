"""A training run: its trajectory, the trained network, and functions of the caller inside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

import numpy

from . import _engine
from ._network import Network
from ._task import Array, Data
from .results import TrainResult


class Stop:
    """The type of :data:`STOP`."""

    def __repr__(self) -> str:
        return "superpose.STOP"


#: Returned by a hook to end the training before the step.
STOP = Stop()


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A training step before it is taken, as a hook gets it. It cannot be changed. Arrays are read-only copies, so they can be kept.

    Attributes:
        number: steps taken before this one; 0 at the start of every repeat.
        rate: the learning rate of the step, with its schedule.
        loss: mean loss over the samples of the step.
        parameters: trained arrays by name, before the step, in the configuration's precision.
        gradients: gradients of the loss by the same names, in float64, clipped if the configuration says so.
    """

    number: int
    rate: float
    loss: float
    parameters: Mapping[str, Array]
    gradients: Mapping[str, Array]

    def __repr__(self) -> str:
        return f"Step(number={self.number}, rate={self.rate}, loss={self.loss})"


#: A function that is called before every step. ``None``: the configured optimiser takes the step; a dictionary of arrays: they become the
#: parameters, and the optimiser moves the others; ``STOP``: the run ends here.
Hook = Callable[[Step], Union[None, Stop, Mapping[str, Any]]]
#: A function of logits ``[n, labels]`` and labels ``[n]`` that returns the loss of the batch and its derivatives by the logits.
Loss = Callable[[Array, Array], Tuple[float, Any]]


class Training(TrainResult):
    """The result of ``superpose train``: the fields of its ``--json``, the trajectory as a table, the network as arrays.

    ``outcome`` has the measures of the trained network with 95% intervals, ``early_phase`` those after the three steps on the same samples,
    ``by_seed`` those of every repeat, and ``trajectory`` is a list of records of the first. A data frame has a row per record.

    >>> import superpose
    >>> training = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=40, rate=0.05).train()
    >>> training.outcome.accuracy.low > training.early_phase.accuracy.high
    True
    >>> training.curves()["loss"].shape == training.curves()["step"].shape == (41,)
    True
    >>> sorted(training.tensors())
    ['m', 'w', 'z_eos', 'z_in', 'z_out', 'z_trig']
    >>> training.attention().shape, training.logits().shape, training.data.tokens.shape
    ((1000, 1, 4), (1000, 32), (1000, 4))
    """

    __slots__ = ("model",)

    #: The trained network of the first repeat.
    model: Network

    def __init__(self, record: _engine.Record, network: Network) -> None:
        super().__init__(record, "train")
        self.model = network

    def tensors(self) -> Dict[str, Array]:
        """Returns all arrays of the first repeat's network by name, as :meth:`Network.tensors`. The checkpoint has the same bits for trained arrays."""
        return self.model.tensors()

    def attention(self, tokens: Any = None, position: Any = None, *, threads: Optional[int] = None) -> Array:
        """Returns attention weights of the first repeat's network, ``[n, heads, length]``, as :meth:`Network.attention`."""
        return self.model.attention(tokens, position, threads=threads)

    def logits(self, tokens: Any = None, position: Any = None, *, threads: Optional[int] = None) -> Array:
        """Returns logits of the first repeat's network, ``[n, labels]``, as :meth:`Network.logits`."""
        return self.model.logits(tokens, position, threads=threads)

    @property
    def data(self) -> Data:
        """The training samples of the first repeat, as :attr:`Network.data`."""
        return self.model.data

    def curves(self) -> Dict[str, Array]:
        """Returns the trajectory as arrays by name, with one entry per record: ``step``, ``loss``, ``accuracy`` and the other columns."""
        rows = self.to_rows()
        return {name: numpy.array([row[name] for row in rows]) for name in rows[0]}

    def __reduce__(self) -> Any:
        return (*super().__reduce__(), (None, {"model": self.model}))
