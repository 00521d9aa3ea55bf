"""The questions of the laboratory, one function each, named as on the command line."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, SupportsIndex, Tuple, Union

from . import _engine
from ._config import Config
from ._given import Number, Path, maybe_path, path, text_of, word, wrong
from ._progress import Progress, listener
from ._result import Result
from ._toml import sweep_text


def _config(config: Optional[Config], keys: Dict[str, Any]) -> Config:
    if config is not None and not isinstance(config, Config):
        raise wrong("config", config, "a Config; settings are keywords, such as vocab=64")
    return Config(**keys) if config is None else config.replace(**keys) if keys else config


def plan(
    facts: Number,
    length: Number,
    *,
    accuracy: Number = 0.99,
    dim: Optional[Number] = None,
    width: Optional[Number] = None,
    activation: Optional[str] = None,
    trigger: str = "values",
    samples: Optional[Number] = None,
    max_parameters: Optional[Number] = None,
) -> Result:
    """The cheapest model for so many facts, what binds, and the trade-off: ``superpose plan``. A row for every dimension.

    ``feasible`` says whether a model within the limits reaches the accuracy, ``cheapest`` is that model or ``None``, ``binds`` is what is
    in the way.

    Args:
        facts: facts to recall V, from 2 on.
        length: sequence length L.
        accuracy: accuracy to reach, above 0 and below 1.
        dim: embedding dimension d; ``None``: the smallest that does.
        width: width m of the MLP; a width or an activation makes it the attention-MLP model.
        activation: of the MLP, as for :class:`Config`; ``None``: relu where there is a width.
        trigger: ``"values"``, in keys and values, or ``"keys"``, in keys only.
        samples: training samples at hand N; ``None``: as many as it takes.
        max_parameters: most trained parameters allowed: d^2, or d m with an MLP; ``None``: no limit.

    >>> import superpose
    >>> plan = superpose.plan(facts=1000, length=32, accuracy=0.9)
    >>> plan.feasible, plan.cheapest.dim > 0
    (True, True)
    >>> "samples" in plan.to_rows()[0]
    True
    """
    record = _engine.plan(facts, length, accuracy, dim, width, activation, trigger, samples, max_parameters)
    return Result(record, "plan")


def threshold(
    config: Optional[Config] = None,
    *,
    find: str,
    accuracy: Number = 0.5,
    half_width: Number = 0.05,
    criterion: str = "mean",
    measure: str = "accuracy",
    max_runs: Number = 400,
    range: Optional[Sequence[Number]] = None,
    store: Optional[Path] = None,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """The size at which an accuracy is reached, by running, with a 95% interval, beside the prediction: ``superpose threshold``.

    The result has ``observed``, or ``unreached`` where the level is not crossed. ``observed.precise`` is ``False`` where ``max_runs`` were
    not enough for the ``half_width``: allow more, or ask for less. Ctrl-C ends the search; with a ``store`` the same call goes on.

    Args:
        config: the other sizes and settings; its ``repeats`` must not be given, for the search decides how often to run.
        find: the size to find: ``"samples"``, ``"dim"``, ``"width"``, ``"length"`` or ``"vocab"``.
        accuracy: the level to reach, above 0 and below 1.
        half_width: half width of the interval, over the estimate, at which to stop, from 0.001 to 1.
        criterion: what counts as reached: ``"mean"``, the mean over seeds is at least the level, or ``"all"``, the share of seeds that
            recall everything is.
        measure: ``"accuracy"``, ``"memory_accuracy"``, ``"one_step_accuracy"`` or ``"lock_rate"``.
        max_runs: runs at most.
        range: sizes to search, (lowest, highest); ``None``: what runs in seconds.
        store: SQLite file to keep results in and to take known ones from.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings, those of :class:`Config`, in its place or changed in it.

    >>> import superpose
    >>> found = superpose.threshold(find="samples", vocab=60, dim=40, length=4, trigger="keys", half_width=0.2)
    >>> found.observed.low <= found.observed.estimate <= found.observed.high
    True
    """
    base = _config(config, keys)
    kept = maybe_path("store", store)
    with listener(progress) as tell:
        record = _engine.threshold(
            base, find, accuracy, half_width, criterion, measure, max_runs, range, kept, threads, tell
        )
    return Result(record, "threshold")


#: What a phase diagram varies: ``("dim", 16, 256)`` or ``"dim:16..256"``.
Axis = Union[str, Tuple[str, Number, Number], Sequence[Any]]


def phase(
    config: Optional[Config] = None,
    *,
    x: Axis,
    y: Axis,
    resolution: Number = 40,
    scale: Union[str, Sequence[str]] = "log",
    accuracy: Number = 0.5,
    measure: str = "accuracy",
    most: Number = 0.25,
    store: Optional[Path] = None,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """A phase diagram over two sizes: measured along the boundary, filled in elsewhere, beside the closed form: ``superpose phase``.
    A row per cell, a picture in a notebook. Ctrl-C ends it; with a ``store`` the same call goes on.

    Args:
        config: the other sizes and settings. Without ``repeats`` two seeds are run at a cell.
        x: the horizontal axis, ``("dim", 16, 256)``, or ``"dim:16..256"`` as on the command line: ``samples``, ``dim``, ``width``, ``length``,
            ``vocab``, or ``parameters`` (m d, by way of the width). Where the width varies and an ``activation`` is given, give any
            ``width``, too.
        y: the vertical axis, of another size.
        resolution: values on each axis, from 2 to 80.
        scale: spacing of both axes, ``"log"`` or ``"linear"``, or of each: ``("log", "linear")``.
        accuracy: the level of the boundary, above 0 and below 1.
        measure: ``"accuracy"``, ``"memory_accuracy"``, ``"one_step_accuracy"`` or ``"lock_rate"``.
        most: share of the cells to run at most, above 0 and at most 1; the rest is filled in.
        store: SQLite file to keep results in and to take known ones from.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings, those of :class:`Config`, in its place or changed in it.

    >>> import superpose
    >>> found = superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=8, vocab=40, length=4)
    >>> len(found.cells), found.measured <= 16
    (64, True)
    """
    base = _config(config, keys)
    scales = (scale, scale) if isinstance(scale, str) else scale
    if not isinstance(scales, (list, tuple)) or len(scales) != 2:
        raise wrong("scale", scale, "log, linear, or one for each axis")
    across, up = _axis("x", x, word("scale", scales[0])), _axis("y", y, word("scale", scales[1]))
    kept = maybe_path("store", store)
    with listener(progress) as tell:
        record = _engine.phase(base, across, up, resolution, accuracy, measure, most, kept, threads, tell)
    return Result(record, "phase")


def _axis(name: str, axis: Any, scale: str) -> Tuple[str, Any, Any, str]:
    refusal = wrong(name, axis, '(size, low, high), such as ("dim", 16, 256)')
    if isinstance(axis, str):
        size, _, values = axis.partition(":")
        low, _, high = values.partition("..")
        try:
            axis = (size, float(low), float(high))
        except ValueError:
            raise refusal from None
    if not isinstance(axis, (list, tuple)) or len(axis) != 3:
        raise refusal
    return (axis[0], axis[1], axis[2], scale)


def bound(
    config: Optional[Config] = None,
    *,
    accuracy: Number = 0.5,
    seeds: Number = 5,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """Decoders of the first gradient beside the surrogate lower bound, and the three-step algorithm: ``superpose bound``. A row for
    the bound, for each decoder and for the three steps; ``estimate`` is the critical number of samples, ``limit`` the accuracy with
    unlimited data.

    Args:
        config: sizes and settings; without it ``vocab`` is 200 and ``dim`` 100 unless said.
        accuracy: share of the facts to recall, above 0 and below 1.
        seeds: seeds to average over.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings, those of :class:`Config`, in its place or changed in it.

    >>> import superpose
    >>> found = superpose.bound(vocab=40, dim=20, length=4, seeds=2)
    >>> found.decoders.mmse.estimate > found.bound
    True
    """
    base = _config(config, keys if config is not None else {"vocab": 200, "dim": 100, **keys})
    with listener(progress) as tell:
        return Result(_engine.bound(base, accuracy, seeds, threads, tell), "bound")


def inspect(
    file: Path,
    tensor: Optional[str] = None,
    *,
    output_tensor: Optional[str] = None,
    accuracy: Number = 0.99,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
) -> Result:
    """How the rows of a real embedding matrix overlap, and how many facts they could hold: ``superpose inspect``.

    Args:
        file: safetensors file.
        tensor: name of the matrix of input embeddings, a row per token; ``None``: the largest matrix of the file.
        output_tensor: name of the matrix of output embeddings, a row per label; ``None``: Gaussian vectors of the same dimension.
        accuracy: memory accuracy at which facts are counted, above 0 and below 1.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.

    >>> import pathlib, superpose, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     run = superpose.Config(vocab=200, dim=32, samples=1000).run(export=file)
    ...     found = superpose.inspect(file, "z_in", accuracy=0.9)
    >>> found.rows, found.dim
    (200, 32)
    """
    source = path("file", file)
    names = [None if name is None else word(key, name) for key, name in (("tensor", tensor), ("output_tensor", output_tensor))]
    with listener(progress) as tell:
        return Result(_engine.inspect(source, names[0], names[1], accuracy, threads, tell), "inspect")


def memory(
    *,
    facts: Optional[Number] = None,
    dim: Number = 64,
    rule: str = "hebbian",
    width: Optional[Number] = None,
    embedding: str = "sphere",
    labels: str = "permutation",
    zipf: Optional[Number] = None,
    optimiser: str = "adamw",
    rate: Optional[Number] = None,
    steps: Optional[Number] = None,
    batch: Optional[Number] = None,
    accuracy: Number = 1.0,
    repeats: Optional[Number] = None,
    seed: Number = 0,
    find: Optional[str] = None,
    half_width: Optional[Number] = None,
    max_runs: Optional[Number] = None,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
) -> Result:
    """An associative memory alone: what it recalls or, with ``find="facts"``, how many facts it holds: ``superpose memory``.

    Args:
        facts: pairs of a key and a value, patterns of a Hopfield network; ``None``: 100. Not together with ``find``.
        dim: dimension of keys and values, neurons of a Hopfield network.
        rule: how weights are made: ``"hebbian"``, ``"least-squares"``, ``"trained"`` or ``"hopfield"``.
        width: width of an MLP with ReLU, both layers trained; ``None``: a linear memory.
        embedding: keys and values: ``"sphere"``, ``"gaussian"`` or ``"rademacher"``.
        labels: ``"permutation"``, each fact its own, or ``"mod:M"``.
        zipf: exponent of Zipf's law for how often facts are asked; ``None``: all alike.
        optimiser: of a trained memory: ``"adamw"``, ``"adam"``, ``"sgd"`` or ``"muon"``.
        rate: its rate; ``None``: 1000, with a width 0.03.
        steps: its steps at most; ``None``: 4,096, with a width 32,768.
        batch: facts drawn for a step; ``None``: all facts at every step.
        accuracy: share of right answers that is success; full-batch training ends there.
        repeats: memories with consecutive seeds; ``None``: 20. Not together with ``find``.
        seed: the first seed.
        find: ``"facts"``: how many can be stored so that half of the repeats succeed, with a 95% interval. ``None``: no search.
        half_width: half width of that interval, over the estimate, at which to stop, above 0 and below 1; ``None``: 0.05.
        max_runs: memories made in the search at most; ``None``: 400.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.

    >>> import superpose
    >>> found = superpose.memory(facts=40, dim=64, repeats=5)
    >>> found.accuracy.low <= found.accuracy.mean <= found.accuracy.high
    True
    >>> capacity = superpose.memory(find="facts", dim=32, half_width=0.2)
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
        return Result(_engine.memory(keys, find, half_width, max_runs, threads, tell), "memory")


def sweep(
    file: Optional[Path] = None,
    *,
    axes: Optional[Mapping[str, Any]] = None,
    points: Optional[Iterable[Mapping[str, Any]]] = None,
    rays: Optional[Mapping[str, str]] = None,
    repeats: Optional[Number] = None,
    noise: bool = False,
    store: Optional[Path] = None,
    retry_failed: bool = False,
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
    **keys: Any,
) -> Result:
    """Many runs: the sweep that a TOML file describes, or one described here: ``superpose sweep``. A row per cell.

    A store keeps every cell; after Ctrl-C the same call does what is missing.

    Args:
        file: a TOML file; then nothing else of the description is given here.
        axes: values by key; all combinations are run. Values are a list, or a range that is rounded where the key is a whole number:
            ``{"from": 100, "to": 10_000, "steps": 5, "scale": "geometric"}`` (or ``"linear"``).
        points: dictionaries of keys that move together, each combined with the axes.
        rays: formulas by key, such as ``{"samples": "20 * vocab"}``.
        repeats: seeds of every cell, consecutive; ``None``: 1.
        noise: whether to keep the noise budget of every cell.
        store: SQLite file; ``None``: for a file ``FILE.sqlite`` beside it, else none.
        retry_failed: whether to run cells again that failed before.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings of all cells, those of :class:`Config`.

    >>> import superpose
    >>> found = superpose.sweep(axes={"samples": [500, 1000], "dim": [16, 32]}, vocab=32, length=4)
    >>> [(row["samples"], row["dim"]) for row in found.to_rows()]
    [(500, 16), (500, 32), (1000, 16), (1000, 32)]
    """
    source, kept = maybe_path("file", file), maybe_path("store", store)
    if source is not None:
        given = {"axes": axes, "points": points, "rays": rays, "repeats": repeats, "noise": noise or None, **keys}
        named = [name for name, value in given.items() if value is not None]
        if named:
            raise ValueError(f"{', '.join(named)} given together with a file: the file describes the sweep; put it there")
        text = text_of(source)
        kept = os.path.splitext(source)[0] + ".sqlite" if kept is None else kept
    else:
        text = sweep_text({**keys, "repeats": repeats, "noise": noise}, axes, points, rays)
    with listener(progress) as tell:
        try:
            record = _engine.sweep(text, source is not None, kept, retry_failed, threads, tell)
        except ValueError as error:
            raise error if source is None else ValueError(f"{source}: {error}") from None
    return Result(record, "sweep")
