"""A training run: the way it took, and the network at its end."""

from __future__ import annotations

from typing import Any, Dict

import numpy

from . import _engine
from ._result import Result


class Training(Result):
    """What ``superpose train`` leaves behind: the fields of its ``--json``, the trajectory as a table, the network as arrays.

    ``outcome`` is what was read off the trained network, ``early_phase`` the same after the three steps on the same samples,
    ``trajectory`` a list of records. A data frame has a row per record.

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
        """All arrays of the network by name, trained or not, in the configuration's precision: looks at the engine's own
        memory that cannot be written to. What was trained is in the checkpoint, too, bit for bit.

        The value matrices of several heads stand side by side in ``m``, their attention matrices one below the other in
        ``w``, or in ``key`` and ``query`` where ``w`` is a product of them."""
        return dict(self._tensors)

    def curves(self) -> Dict[str, numpy.ndarray]:
        """The trajectory as arrays by name, an entry per record: ``step``, ``loss``, ``accuracy`` and all else in it."""
        rows = self.to_rows()
        return {name: numpy.array([row[name] for row in rows]) for name in rows[0]}

    def __reduce__(self) -> Any:
        return (*super().__reduce__(), (None, {"_tensors": self._tensors}))
