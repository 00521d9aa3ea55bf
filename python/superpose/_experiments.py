"""The questions of the laboratory, one function each, named as on the command line."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

from . import _engine
from ._config import Config, Path
from ._progress import Progress, listener
from ._result import Result


def _config(config: Optional[Config], keys: Dict[str, Any]) -> Config:
    return Config(**keys) if config is None else config.replace(**keys) if keys else config


def plan(
    facts: float,
    length: float,
    *,
    accuracy: float = 0.99,
    dim: Optional[float] = None,
    width: Optional[float] = None,
    activation: Optional[str] = None,
    trigger: str = "values",
    samples: Optional[float] = None,
    max_parameters: Optional[float] = None,
) -> Result:
    """The cheapest model for so many facts, what binds, and the trade-off: a row for every dimension.

    >>> import superpose
    >>> plan = superpose.plan(facts=1000, length=32, accuracy=0.9)
    >>> plan.feasible, plan.cheapest.dim > 0
    (True, True)
    >>> "samples" in plan.to_rows()[0]
    True
    """
    record = _engine.plan(facts, length, accuracy, dim, width, activation, trigger, samples, max_parameters)
    return Result(record, "curve")


def threshold(
    config: Optional[Config] = None,
    *,
    find: str,
    accuracy: float = 0.5,
    precision: float = 0.05,
    criterion: str = "mean",
    measure: str = "accuracy",
    max_runs: int = 400,
    range: Optional[Tuple[float, float]] = None,
    store: Optional[Path] = None,
    threads: Optional[int] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """The size at which an accuracy is reached, by running, with a 95% interval, beside the prediction.

    ``find`` is samples, dim, width, length or vocab; ``precision`` the half width of the interval, over the estimate, at which to
    stop (the floating-point type is a :class:`Config`'s). The result has ``observed``, or ``unreached`` where the level is not
    crossed. Ctrl-C ends the search; with a ``store`` the same call goes on.

    >>> import superpose
    >>> found = superpose.threshold(find="samples", vocab=60, dim=40, length=4, trigger="keys", precision=0.2)
    >>> found.observed.low <= found.observed.estimate <= found.observed.high
    True
    """
    base = _config(config, keys)
    with listener(progress) as tell:
        record = _engine.threshold(
            base, find, accuracy, precision, criterion, measure, max_runs, range, store, threads, tell
        )
    return Result(record)


Axis = Union[str, Sequence[Any]]


def phase(
    config: Optional[Config] = None,
    *,
    x: Axis,
    y: Axis,
    resolution: int = 40,
    scale: Union[str, Tuple[str, str]] = "log",
    accuracy: float = 0.5,
    measure: str = "accuracy",
    most: float = 0.25,
    store: Optional[Path] = None,
    threads: Optional[int] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """A phase diagram over two sizes: measured along the boundary, filled in elsewhere, beside the closed form. A row per cell.

    An axis is ``("dim", 16, 256)``, or ``"dim:16..256"`` as on the command line. Without ``repeats`` two seeds are run at a cell.

    >>> import superpose
    >>> found = superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=8, vocab=40, length=4)
    >>> len(found.cells), found.measured <= 16
    (64, True)
    """
    base = _config(config, keys)
    scales = (scale, scale) if isinstance(scale, str) else scale
    across, up = _axis("x", x, scales[0]), _axis("y", y, scales[1])
    with listener(progress) as tell:
        record = _engine.phase(base, across, up, resolution, accuracy, measure, most, store, threads, tell)
    return Result(record, "cells")


def _axis(name: str, axis: Axis, scale: str) -> Tuple[str, Any, Any, str]:
    if isinstance(axis, str):
        size, _, values = axis.partition(":")
        low, _, high = values.partition("..")
        try:
            axis = (size, float(low), float(high))
        except ValueError:
            axis = ()
    if len(axis) != 3:
        raise ValueError(f'{name} = {axis!r}: must be (size, low, high), such as ("dim", 16, 256)')
    return (*axis, scale)


def bound(
    config: Optional[Config] = None,
    *,
    accuracy: float = 0.5,
    seeds: int = 5,
    threads: Optional[int] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """Decoders of the first gradient beside the surrogate lower bound, and the three-step algorithm. A row per decoder.

    >>> import superpose
    >>> found = superpose.bound(vocab=40, dim=20, length=4, seeds=2)
    >>> found.decoders.mmse.estimate > found.bound
    True
    """
    base = _config(config, keys if config is not None else {"vocab": 200, "dim": 100, **keys})
    with listener(progress) as tell:
        return Result(_engine.bound(base, accuracy, seeds, threads, tell), "decoders")


def inspect(
    file: Path,
    tensor: Optional[str] = None,
    *,
    output_tensor: Optional[str] = None,
    accuracy: float = 0.99,
    threads: Optional[int] = None,
    progress: Progress = None,
) -> Result:
    """How the rows of a real embedding matrix in a safetensors file overlap, and how many facts they could hold."""
    with listener(progress) as tell:
        return Result(_engine.inspect(file, tensor, output_tensor, accuracy, threads, tell))


def memory(
    *,
    facts: Optional[float] = None,
    dim: float = 64,
    rule: str = "hebbian",
    width: Optional[float] = None,
    embedding: str = "sphere",
    labels: str = "permutation",
    zipf: Optional[float] = None,
    optimiser: str = "adamw",
    rate: Optional[float] = None,
    steps: Optional[float] = None,
    batch: Optional[float] = None,
    accuracy: float = 1.0,
    repeats: Optional[float] = None,
    seed: float = 0,
    find: Optional[str] = None,
    precision: Optional[float] = None,
    max_runs: Optional[float] = None,
    threads: Optional[int] = None,
    progress: Progress = None,
) -> Result:
    """An associative memory alone: ``facts`` (100 unless said) pairs of a key and a value in ``dim`` dimensions, weights by a ``rule``
    (hebbian, least-squares, trained or hopfield), as many ``repeats`` (20 unless said) with consecutive seeds.

    ``accuracy`` is the share of right answers that is success. With ``find="facts"`` it is how many facts can be stored so that half
    of the repeats succeed, with a 95% interval, to a ``precision`` (0.05) and with ``max_runs`` (400) memories at most.

    >>> import superpose
    >>> found = superpose.memory(facts=40, dim=64, repeats=5)
    >>> found.accuracy.low <= found.accuracy.mean <= found.accuracy.high
    True
    >>> capacity = superpose.memory(find="facts", dim=32, precision=0.2)
    >>> 20 < capacity.threshold.found.estimate < 40
    True
    """
    keys = dict(
        facts=facts,
        dim=dim,
        rule=rule,
        width=width,
        embedding=embedding,
        labels=labels,
        zipf=zipf,
        optimiser=optimiser,
        rate=rate,
        steps=steps,
        batch=batch,
        accuracy=accuracy,
        repeats=repeats,
        seed=seed,
    )
    with listener(progress) as tell:
        return Result(_engine.memory(keys, find, precision, max_runs, threads, tell))


def sweep(
    file: Optional[Path] = None,
    *,
    axes: Optional[Mapping[str, Any]] = None,
    points: Optional[Iterable[Mapping[str, Any]]] = None,
    rays: Optional[Mapping[str, str]] = None,
    repeats: int = 1,
    noise: bool = False,
    store: Optional[Path] = None,
    retry_failed: bool = False,
    threads: Optional[int] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """Many runs: the sweep that a TOML ``file`` describes, or all combinations of ``axes`` (lists of values, or ranges
    ``{"from": .., "to": .., "steps": .., "scale": "geometric"}``), with ``points`` that move together and ``rays`` that follow
    by a formula. A row per cell, with the columns of the store.

    A ``store`` (for a file: ``FILE.sqlite`` beside it) keeps every cell; after Ctrl-C the same call does what is missing.

    >>> import superpose
    >>> found = superpose.sweep(axes={"samples": [500, 1000], "dim": [16, 32]}, vocab=32, length=4)
    >>> [(row["samples"], row["dim"]) for row in found.to_rows()]
    [(500, 16), (500, 32), (1000, 16), (1000, 32)]
    """
    if file is not None:
        if axes or points or rays or keys:
            raise ValueError("file is given: axes, points, rays and keys are what it describes")
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        store = os.path.splitext(os.fspath(file))[0] + ".sqlite" if store is None else store
    else:
        text = _toml({**keys, "repeats": repeats, "noise": noise}, axes or {}, list(points or []), rays or {})
    with listener(progress) as tell:
        try:
            record = _engine.sweep(text, file is not None, store, retry_failed, threads, tell)
        except ValueError as error:
            raise error if file is None else ValueError(f"{os.fspath(file)}: {error}") from None
    return Result(record, "cells")


def _toml(base: Mapping[str, Any], axes: Mapping[str, Any], points: Sequence[Any], rays: Mapping[str, str]) -> str:
    """A sweep in the words of its file."""

    def value(x: Any) -> str:
        if hasattr(x, "tolist"):
            x = x.tolist()
        if isinstance(x, Mapping):
            return "{" + ", ".join(f"{json.dumps(name)} = {value(inner)}" for name, inner in x.items()) + "}"
        if isinstance(x, (list, tuple, range)):
            return "[" + ", ".join(map(value, x)) + "]"
        return json.dumps(x, ensure_ascii=False)

    def lines(table: Mapping[str, Any]) -> str:
        return "".join(f"{json.dumps(name)} = {value(x)}\n" for name, x in table.items() if x is not None)

    moving = f"points = {value(points)}\n" if points else ""
    return f"{lines(base)}{moving}[axes]\n{lines(axes)}[rays]\n{lines(rays)}"
