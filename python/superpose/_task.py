"""Tasks of one's own: sequences to train on and sequences to test on."""

from __future__ import annotations

from typing import Any, Dict, Iterable, NamedTuple

import numpy

from . import _arrays, _engine
from ._given import Path, path, tensor_file, wrong

Array = numpy.ndarray[Any, numpy.dtype[Any]]


class Data(NamedTuple):
    """Sequences: tokens, a row each, the informative position and the label of each."""

    tokens: Array
    position: Array
    labels: Array


class Task:
    """Sequences to train on and sequences to test on, with any labels. ``run``, ``train``, ``model`` and ``network`` take a task in place
    of the sequences that a configuration draws. A task never changes.

    Args:
        train: the training sequences, ``(tokens, position, labels)``: whole numbers from 0, a row of tokens per sequence, the position of its
            trigger and its label.
        test: the test sequences, of the same length.

    >>> import numpy, superpose
    >>> generator = numpy.random.default_rng(0)
    >>> tokens, position = generator.integers(0, 20, (3000, 4)), generator.integers(0, 4, 3000)
    >>> labels = (tokens[numpy.arange(3000), position] + 1) % 20
    >>> task = superpose.Task((tokens[:2000], position[:2000], labels[:2000]), (tokens[2000:], position[2000:], labels[2000:]))
    >>> task
    Task(train=2000 sequences, test=1000 sequences, length=4)
    >>> result = superpose.Config(vocab=20, dim=32).run(task=task)
    >>> result.config.samples, result.config.test_samples, result.test
    (2000, 1000, 'given')
    """

    __slots__ = ("_train", "_test")

    def __init__(self, train: Iterable[Any], test: Iterable[Any]) -> None:
        self._train = _data("train", train)
        self._test = _data("test", test)
        if self._train.tokens.shape[1] != self._test.tokens.shape[1]:
            raise wrong("test", f"tokens of shape {self._test.tokens.shape}", f"sequences of length {self.length}, as in train")

    @property
    def train(self) -> Data:
        """The training sequences, read-only."""
        return self._train

    @property
    def test(self) -> Data:
        """The test sequences, read-only."""
        return self._test

    @property
    def length(self) -> int:
        """Tokens in a sequence."""
        return int(self._train.tokens.shape[1])

    def arrays(self) -> Dict[str, Array]:
        """Returns the arrays by the names that ``run`` takes them by: ``tokens``, ``position``, ``labels``, ``test_tokens``, ``test_position``
        and ``test_labels``."""
        return {**self._train._asdict(), **{f"test_{name}": array for name, array in self._test._asdict().items()}}

    def save(self, file: Path) -> None:
        """Writes the task to a safetensors file, from which :meth:`load` reads it. ``superpose run --import`` takes the same file.

        Args:
            file: the file, by convention with the extension ``.safetensors``.
        """
        _engine.write_sequences(path("file", file), list(self.arrays().items()))

    @classmethod
    def load(cls, file: Path) -> "Task":
        """Reads a task that :meth:`save` wrote, or any safetensors file with arrays of the names in :meth:`arrays`.

        Args:
            file: the file.
        """
        found = _engine.read_sequences(tensor_file("file", file), [*Data._fields, *(f"test_{name}" for name in Data._fields)])
        return cls(found[:3], found[3:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Task):
            return NotImplemented
        pairs = zip((*self._train, *self._test), (*other._train, *other._test))
        return all(numpy.array_equal(mine, theirs) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Task, (tuple(self._train), tuple(self._test))

    def __repr__(self) -> str:
        return f"Task(train={len(self._train.labels)} sequences, test={len(self._test.labels)} sequences, length={self.length})"


def _data(name: str, given: Iterable[Any]) -> Data:
    parts = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, numpy.ndarray)) else []
    if len(parts) != 3:
        shown = f"({len(parts)} values)" if parts else given
        raise wrong(name, shown, "three arrays: tokens, position and labels")
    data = Data(*(_indices(f"{name}.{part}", array) for part, array in zip(Data._fields, parts)))
    count = data.tokens.shape[0] if data.tokens.ndim == 2 else 0
    if data.tokens.ndim != 2 or data.position.shape != (count,) or data.labels.shape != (count,):
        shapes = ", ".join(str(array.shape) for array in data)
        raise ValueError(f"{name} has arrays of shape {shapes}: must be tokens [n, length], position [n] and labels [n]")
    if count == 0 or data.tokens.shape[1] == 0:
        raise ValueError(f"{name}.tokens has shape {data.tokens.shape}: must have at least one sequence and one position")
    if data.position.max() >= data.tokens.shape[1]:
        raise ValueError(f"{name}.position has {data.position.max()}: must be below the length {data.tokens.shape[1]}")
    return data


def _indices(name: str, value: Any) -> Array:
    found = _arrays.array(name, value)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {found.dtype}: must hold whole numbers")
    if found.size and (found.min() < 0 or found.max() >= 2**31):
        raise ValueError(f"{name} holds {found.min() if found.min() < 0 else found.max()}: must be from 0 to 2^31 - 1")
    copy = numpy.array(found, dtype=numpy.int64)
    copy.setflags(write=False)
    return _arrays.guarded(copy)
