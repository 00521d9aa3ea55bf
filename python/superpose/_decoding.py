"""A decoder of the caller in :func:`superpose.bound`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

from ._task import Array


@dataclass(frozen=True, eq=False, repr=False)
class FirstStep:
    """The first gradient step and the embeddings, as a decoder gets them. Arrays are read-only copies in float64.

    Attributes:
        m: the matrix M after the step, divided by the learning rate: ``[dim, dim]``, or ``[dim, width]`` with an MLP.
        samples: training samples behind it; infinity: the expectation, as with unlimited data.
        z_in: input embeddings, ``[vocab, dim]``.
        z_out: output embeddings, ``[vocab, dim]``, a row per label.
        z_trig: the trigger, ``[dim]``.
        w_in: the first layer of the MLP, ``[width, dim]``, or ``None``.
    """

    m: Array
    samples: float
    z_in: Array
    z_out: Array
    z_trig: Array
    w_in: Optional[Array]

    def __repr__(self) -> str:
        return f"FirstStep(m={self.m.shape}, samples={self.samples:g})"


#: A function of a :class:`FirstStep` that returns the label of every token, ``[vocab]``, or scores, ``[vocab, vocab]``, of which the
#: largest in each row counts.
Decoder = Callable[[FirstStep], Any]
