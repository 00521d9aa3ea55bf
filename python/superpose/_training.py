"""A training run: its trajectory and the trained network."""

from __future__ import annotations

from typing import Any, Dict

import numpy

from . import _engine
from ._result import Result


class Training(Result):
    """The result of ``superpose train``: the fields of its ``--json``, the trajectory as a table, the network as arrays.

    ``outcome`` has the measures of the trained network, ``early_phase`` those after the three steps on the same samples, and
    ``trajectory`` is a list of records. A data frame has a row per record.

    >>> import superpose
    >>> training = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=40, rate=0.05).train()
    >>> training.outcome.accuracy.mean > training.early_phase.accuracy.mean
    True
    >>> training.curves()["loss"].shape == training.curves()["step"].shape == (41,)
    True
    >>> sorted(training.tensors())
    ['m', 'w', 'z_eos', 'z_in', 'z_out', 'z_trig']
    """

    __slots__ = ("_tensors",)

    def __init__(self, record: _engine.Record, network: _engine.Network) -> None:
        super().__init__(record, "train")
        self._tensors = {name: network.tensor(name) for name in network.names()}

    def tensors(self) -> Dict[str, numpy.ndarray]:
        """Returns all arrays of the network by name, trained or not, in the configuration's precision, as read-only views of the
        engine's memory. The checkpoint has the same bits for trained arrays.

        With several heads, ``m`` has their value matrices side by side, and ``w`` their attention matrices stacked vertically. With
        ``factored``, ``key`` and ``query`` take the place of ``w``."""
        return dict(self._tensors)

    def curves(self) -> Dict[str, numpy.ndarray]:
        """Returns the trajectory as arrays by name, with one entry per record: ``step``, ``loss``, ``accuracy`` and the other columns."""
        rows = self.to_rows()
        return {name: numpy.array([row[name] for row in rows]) for name in rows[0]}

    def __reduce__(self) -> Any:
        return (*super().__reduce__(), (None, {"_tensors": self._tensors}))
