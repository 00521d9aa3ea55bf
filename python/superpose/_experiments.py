"""The experiments, one function each, named as on the command line."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, Literal, Mapping, Optional, Sequence, SupportsIndex, Tuple, Union

from . import _arrays, _engine
from ._callbacks import engine_decoder
from ._config import Config
from ._decoding import Decoder
from ._definitions import with_files
from ._given import Number, Path, mapping, maybe_path, tensor_file, text_of, word, wrong
from ._inputs import taken
from ._progress import Progress, listener
from ._settings import named
from ._task import Array
from ._toml import point_list, sweep_text
from .results import (
    BoundResult,
    EstimateResult,
    InspectResult,
    MemoryConvention,
    MemoryEmbedding,
    MemoryOptimiser,
    MemoryResult,
    MemoryRule,
    PhaseMeasure,
    PhaseResult,
    PlanActivation,
    PlanResult,
    PlanTrigger,
    SweepResult,
    ThresholdCriterion,
    ThresholdFind,
    ThresholdMeasure,
    ThresholdResult,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keys import BoundKeys, EstimateKeys, Keys, RepeatKeys


def _config(config: Optional[Config], keys: Dict[str, Any]) -> Config:
    if config is not None and not isinstance(config, Config):
        raise wrong("config", config, "a Config; settings are keywords, such as vocab=64")
    return Config(**keys) if config is None else config.replace(**keys) if keys else config


def _experiment(
    name: str,
    keys: Dict[str, Any],
    threads: Optional[SupportsIndex],
    progress: Progress,
    arrays: Optional[Dict[str, Array]] = None,
    decoder: Optional[Decoder] = None,
    device: Optional[str] = None,
) -> _engine.Record:
    """The experiment that the engine has under this name."""
    with listener(progress) as tell:
        return _engine.experiment(name, keys, arrays or {}, threads, device, tell, engine_decoder(decoder))


def plan(
    facts: Number,
    length: Number,
    *,
    accuracy: Number = 0.99,
    dim: Optional[Number] = None,
    width: Optional[Number] = None,
    activation: Optional[PlanActivation] = None,
    trigger: PlanTrigger = "values",
    zipf: Number = 0.0,
    samples: Optional[Number] = None,
    max_parameters: Optional[Number] = None,
) -> PlanResult:
    """Finds the cheapest model for a number of facts, the limiting condition and the trade-off: ``superpose plan``. The table has a row per
    dimension.

    ``feasible`` says whether a model within the limits reaches the accuracy, ``cheapest`` is that model or ``None``, and ``binds`` names the
    limiting noise term.

    Args:
        facts: facts to recall V, at least 2.
        length: sequence length L.
        accuracy: accuracy to reach, above 0 and below 1.
        dim: embedding dimension d; ``None``: the smallest that reaches the accuracy.
        width: width m of the MLP; a width or an activation selects the attention-MLP model.
        activation: activation of the MLP, as for :class:`Config`; ``None``: relu if there is a width.
        trigger: ``"values"``, in keys and values, or ``"keys"``, in keys only.
        zipf: exponent of Zipf's law; plans are for uniform tokens, so only 0 is allowed.
        samples: available training samples N; ``None``: no limit.
        max_parameters: maximum number of trained parameters: d^2, or d m with an MLP; ``None``: no limit.

    >>> import superpose
    >>> plan = superpose.plan(facts=1000, length=32, accuracy=0.9)
    >>> plan.feasible, plan.cheapest.dim > 0
    (True, True)
    >>> "samples" in plan.to_rows()[0]
    True
    """
    sizes = dict(facts=facts, length=length, dim=dim, width=width, samples=samples, max_parameters=max_parameters)
    return PlanResult(_engine.plan(dict(sizes, accuracy=accuracy, activation=activation, trigger=trigger, zipf=zipf)), "plan")


def threshold(
    config: Optional[Config] = None,
    *,
    find: ThresholdFind,
    accuracy: Number = 0.5,
    half_width: Number = 0.05,
    criterion: ThresholdCriterion = "mean",
    measure: ThresholdMeasure = "accuracy",
    max_runs: Number = 400,
    range: Optional[Sequence[Number]] = None,
    store: Optional[Path] = None,
    threads: Optional[SupportsIndex] = None,
    device: Optional[str] = None,
    progress: Progress = None,
    **keys: Unpack[Keys],
) -> ThresholdResult:
    """Measures the size at which an accuracy is reached, with a 95% interval and the prediction: ``superpose threshold``.

    The result has ``observed``, or ``unreached`` if the level is not crossed. ``observed.precise`` is ``False`` if ``max_runs`` was
    not enough for the ``half_width``: allow more runs, or a larger ``half_width``. Ctrl-C ends the search; with a ``store`` the same call
    continues it.

    Args:
        config: the other sizes and settings. Its ``repeats`` must not be given, because the search chooses the number of runs.
        find: the size to find: ``"samples"``, ``"dim"``, ``"width"``, ``"length"`` or ``"vocab"``.
        accuracy: the level to reach, above 0 and below 1.
        half_width: half width of the interval, relative to the estimate, at which to stop, from 0.001 to 1.
        criterion: ``"mean"``: the mean over seeds is at least the level; ``"all"``: the share of seeds that recall everything is at
            least the level.
        measure: a measure between 0 and 1, such as ``"accuracy"``, ``"memory_accuracy"`` or ``"lock_rate"``.
        max_runs: maximum number of runs.
        range: sizes to search, (lowest, highest); ``None``: sizes that run in seconds.
        store: SQLite file that keeps results and supplies known ones.
        threads: as for :meth:`Config.run`.
        device: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings of :class:`Config`, used without ``config`` or to change it, and the ``task`` and the arrays
            ``z_in``, ``z_out``, ``z_trig``, ``z_eos`` and ``w_in`` of :meth:`Config.run`.

    >>> import superpose
    >>> found = superpose.threshold(find="samples", vocab=60, dim=40, length=4, trigger="keys", half_width=0.2)
    >>> found.observed.low <= found.observed.estimate <= found.observed.high
    True
    """
    given = dict(keys)
    arrays, base = taken(given), _config(config, given)
    options = dict(
        find=find, accuracy=accuracy, half_width=half_width, criterion=criterion, measure=measure, max_runs=max_runs
    )
    kept = maybe_path("store", store)
    with listener(progress) as tell:
        return ThresholdResult(_engine.threshold(base, arrays, options, range, kept, threads, device, tell), "threshold")


#: An axis of a phase diagram: ``("dim", 16, 256)`` or ``"dim:16..256"``.
Axis = Union[str, Tuple[str, Number, Number], Sequence[Any]]


def phase(
    config: Optional[Config] = None,
    *,
    x: Axis,
    y: Axis,
    resolution: Number = 40,
    scale: Union[Literal["log", "linear"], Sequence[Literal["log", "linear"]]] = "log",
    accuracy: Number = 0.5,
    measure: PhaseMeasure = "accuracy",
    max_share: Number = 0.25,
    store: Optional[Path] = None,
    threads: Optional[SupportsIndex] = None,
    device: Optional[str] = None,
    progress: Progress = None,
    **keys: Unpack[RepeatKeys],
) -> PhaseResult:
    """Makes a phase diagram over two sizes, measured along the boundary and interpolated elsewhere, with the closed form:
    ``superpose phase``. The table has a row per cell; a notebook shows a picture. Ctrl-C ends the call; with a ``store`` the same call
    continues it.

    Args:
        config: the other sizes and settings. Without ``repeats``, two seeds are run for each cell.
        x: the horizontal axis, ``("dim", 16, 256)``, or ``"dim:16..256"`` as on the command line: ``samples``, ``dim``, ``width``, ``length``,
            ``vocab``, or ``parameters`` (m d, by varying the width). If the width varies and an ``activation`` is given, also give any
            ``width``.
        y: the vertical axis, of another size.
        resolution: number of values on each axis, from 2 to 80.
        scale: spacing of both axes, ``"log"`` or ``"linear"``, or one for each axis: ``("log", "linear")``.
        accuracy: the level of the boundary, above 0 and below 1.
        measure: a measure between 0 and 1, such as ``"accuracy"``, ``"memory_accuracy"`` or ``"lock_rate"``.
        max_share: maximum share of the cells to run, above 0 and at most 1; the others are interpolated.
        store: SQLite file that keeps results and supplies known ones.
        threads: as for :meth:`Config.run`.
        device: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings of :class:`Config`, used without ``config`` or to change it, and the ``task`` and the arrays
            ``z_in``, ``z_out``, ``z_trig``, ``z_eos`` and ``w_in`` of :meth:`Config.run`.

    >>> import superpose
    >>> found = superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=8, vocab=40, length=4)
    >>> len(found.cells), found.measured <= 16
    (64, True)
    """
    given = dict(keys)
    arrays, base = taken(given), _config(config, given)
    spacing: str = scale if isinstance(scale, str) else ""
    if not spacing:
        if not isinstance(scale, (list, tuple)) or len(scale) != 2:
            raise wrong("scale", scale, "log, linear, or one for each axis")
        spacing = ",".join(word("scale", one) for one in scale)
    options = dict(resolution=resolution, scale=spacing, accuracy=accuracy, measure=measure, max_share=max_share)
    across, up = _axis("x", x), _axis("y", y)
    kept = maybe_path("store", store)
    with listener(progress) as tell:
        return PhaseResult(_engine.phase(base, arrays, across, up, options, kept, threads, device, tell), "phase")


def _axis(name: str, axis: Any) -> Tuple[str, Any, Any]:
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
    return (axis[0], axis[1], axis[2])


def bound(
    config: Optional[Config] = None,
    *,
    accuracy: Number = 0.5,
    seeds: Number = 5,
    decoder: Optional[Decoder] = None,
    threads: Optional[SupportsIndex] = None,
    device: Optional[str] = None,
    progress: Progress = None,
    **keys: Unpack[BoundKeys],
) -> BoundResult:
    """Compares decoders of the first gradient and the three-step algorithm with lower bounds: ``superpose bound``. The table has a row
    for each bound, for each decoder and for the three steps; ``estimate`` is the critical number of samples, ``bound`` the largest lower
    bound that holds for the decoder, ``ratio`` the estimate over it, and ``limit`` the accuracy with unlimited data.

    ``bounds.coverage`` holds for any learner, ``bounds.linear`` for linear scores followed by argmax (``argmax``, ``mmse``), to leading
    order. ``bounds.genie`` and ``bounds.surrogate`` take the noise as Gaussian. ``bounds.bits`` is the smallest number of bits for each
    number of the gradient, whatever the number of samples. With embeddings of your own, ``bounds.linear``, ``bounds.genie`` and
    ``bounds.surrogate`` are ``None``: they were derived for random vectors.

    Args:
        config: sizes and settings; without it ``vocab`` is 200 and ``dim`` is 100 by default.
        accuracy: share of the facts to recall, above 0 and below 1.
        seeds: number of seeds to average over.
        decoder: a function of a :class:`FirstStep` that returns the label of every token, ``[vocab]``, or scores, ``[vocab, vocab]``, of which
            the largest in each row counts. Its result is ``decoders.own``.
        threads: as for :meth:`Config.run`.
        device: as for :meth:`Config.run`; decoders compute on the CPU.
        progress: as for :meth:`Config.run`.
        keys: settings of :class:`Config`, used without ``config`` or to change it, and the arrays ``z_in``, ``z_out``, ``z_trig``, ``z_eos``
            and ``w_in`` of :meth:`Config.run`.

    >>> import superpose
    >>> found = superpose.bound(vocab=40, dim=20, length=4, seeds=2)
    >>> found.decoders.mmse.estimate > found.bounds.linear
    True

    A decoder of one's own, here that with the name argmax:

    >>> def scores(step):
    ...     return step.z_in @ step.m.T @ step.z_out.T
    >>> found = superpose.bound(vocab=40, dim=20, length=4, seeds=2, decoder=scores)
    >>> found.decoders.own.estimate == found.decoders.argmax.estimate
    True
    """
    given: Dict[str, Any] = dict(keys)
    if given.pop("task", None) is not None:
        raise ValueError("task is given: decoders are compared on drawn sequences, as many as needed; give embeddings alone")
    arrays, changed = _arrays.embeddings(given), named(given)
    given = config._given() if _config(config, {}) is config else {}
    for unused in ("samples", "test_samples", "repeats"):
        given.pop(unused, None)
    given.update(changed)
    options = dict(with_files(given), accuracy=accuracy, seeds=seeds)
    return BoundResult(_experiment("bound", options, threads, progress, arrays, decoder, device), "bound")


def estimate(config: Optional[Config] = None, *, threads: Optional[SupportsIndex] = None, **keys: Unpack[EstimateKeys]) -> EstimateResult:
    """Estimates the time and the memory of a run without running it: ``superpose estimate``.

    Args:
        config: sizes and settings.
        threads: number of threads of the run; ``None``: one per core.
        keys: settings of :class:`Config`, used without ``config`` or to change it.

    >>> import superpose
    >>> cost = superpose.estimate(vocab=512, samples=100_000)
    >>> cost.fits, cost.thread_seconds < 60
    (True, True)
    """
    return EstimateResult(_experiment("estimate", _config(config, dict(keys))._given(), threads, False), "estimate")


def inspect(
    file: Any,
    tensor: Optional[str] = None,
    *,
    output_tensor: Optional[str] = None,
    accuracy: Number = 0.99,
    facts: Optional[Number] = None,
    length: Number = 16,
    trigger: PlanTrigger = "keys",
    threads: Optional[SupportsIndex] = None,
    progress: Progress = None,
) -> InspectResult:
    """Measures how the rows of a real embedding matrix overlap, and predicts how many facts they can hold: ``superpose inspect``.

    Args:
        file: safetensors file, or an array or a nested list of embeddings, one row per token.
        tensor: name of the matrix of input embeddings, one row per token; ``None``: the largest matrix of the file.
        output_tensor: name of the matrix of output embeddings, one row per label; ``None``: Gaussian vectors of the same dimension.
        accuracy: memory accuracy that the facts must reach, above 0 and below 1.
        facts: also predict the recall of this many facts, the fewest samples and the longest sequences with which it reaches the accuracy;
            they are in ``sizes``. Output embeddings are then Gaussian. The prediction is for rows multiplied by ``sizes.scale``, so that their
            mean squared length is 1; multiply them before a run, too.
        length: sequence length L, with ``facts``.
        trigger: ``"keys"``, in keys only, or ``"values"``, in keys and values, with ``facts``. A :class:`Config` has it in the values by default.
        threads: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.

    >>> import pathlib, superpose, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     run = superpose.Config(vocab=200, dim=32, samples=1000).run(export=file)
    ...     found = superpose.inspect(file, "z_in", accuracy=0.9)
    >>> found.rows, found.dim
    (200, 32)

    Of an array:

    >>> import numpy
    >>> superpose.inspect(numpy.random.default_rng(0).standard_normal((300, 24))).dim
    24
    """
    names = [None if name is None else word(key, name) for key, name in (("tensor", tensor), ("output_tensor", output_tensor))]
    with contextlib.ExitStack() as stack:
        is_array = hasattr(file, "__array__") or hasattr(file, "__dlpack__") or isinstance(file, (list, tuple))
        if is_array:
            if any(name is not None for name in names):
                raise ValueError("tensor and output_tensor name matrices of a file; give the array alone")
            # The engine reads blocks of rows of a file, so that matrices may be larger than the memory.
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            source = _arrays.written(_arrays.array("array", file), os.path.join(folder, "array.safetensors"))
        else:
            weight = "; give the .weight of a layer" if hasattr(file, "weight") else ""
            if weight:
                raise wrong("file", file, f"the name of a file or an array{weight}")
            source = tensor_file("file", file, "a safetensors file or an array")
        tell = stack.enter_context(listener(progress))
        found = _engine.inspect(source, is_array, names[0], names[1], accuracy, facts, length, trigger, threads, tell)
        return InspectResult(found, "inspect")


def memory(
    *,
    facts: Optional[Number] = None,
    dim: Optional[Number] = None,
    rule: MemoryRule = "hebbian",
    width: Optional[Number] = None,
    embedding: MemoryEmbedding = "sphere",
    embedding_file: Optional[Path] = None,
    embedding_tensor: Optional[str] = None,
    z_in: Any = None,
    labels: str = "permutation",
    zipf: Optional[Number] = None,
    optimiser: MemoryOptimiser = "adamw",
    rate: Optional[Number] = None,
    steps: Optional[Number] = None,
    batch: Optional[Number] = None,
    convention: MemoryConvention = "converged",
    accuracy: Number = 1.0,
    top: Optional[Number] = None,
    repeats: Optional[Number] = None,
    seed: Number = 0,
    find: Optional[Literal["facts"]] = None,
    half_width: Optional[Number] = None,
    max_runs: Optional[Number] = None,
    threads: Optional[SupportsIndex] = None,
    device: Optional[str] = None,
    progress: Progress = None,
) -> MemoryResult:
    """Measures what an associative memory recalls or, with ``find="facts"``, how many facts it holds: ``superpose memory``.

    Args:
        facts: number of pairs of a key and a value, or of patterns of a Hopfield network; ``None``: 100. Not together with ``find``.
        dim: dimension of keys and values, or number of neurons of a Hopfield network; ``None``: 64, or the columns of the keys given.
        rule: how the weights are computed: ``"hebbian"``, ``"least-squares"``, ``"trained"`` or ``"hopfield"``.
        width: width of an MLP with ReLU, both layers trained; ``None``: a linear memory.
        embedding: distribution of keys and values: ``"sphere"``, ``"gaussian"`` or ``"rademacher"``.
        embedding_file: safetensors file with keys; each memory draws as many rows as it has facts. Values are drawn as ``embedding`` says.
        embedding_tensor: the matrix in that file.
        z_in: an array of keys in place of a file, a row each.
        labels: ``"permutation"``: each fact has its own label; or ``"mod:M"``: M labels.
        zipf: exponent of Zipf's law for the frequency of facts; ``None``: all are equally frequent.
        optimiser: optimiser of a trained memory: ``"adamw"``, ``"adam"``, ``"sgd"`` or ``"muon"``.
        rate: learning rate of a trained memory; ``None``: that of the convention, or 0.03 with a width.
        steps: maximum number of steps of a trained memory; ``None``: 4,096, or 32,768 with a width.
        batch: number of facts drawn for a step; ``None``: all facts at every step.
        convention: default rate of a trained linear memory: ``"converged"``, 1, at which neither a smaller rate nor more steps store more; or
            ``"literature"``, 1000, as in the references.
        accuracy: share of right answers that counts as success; full-batch training ends when it is reached.
        top: share of the labels, those with the largest logits, among which the right one must be; ``None``: it must have the largest logit.
        repeats: number of memories, with consecutive seeds; ``None``: 20. Not together with ``find``.
        seed: the first seed.
        find: ``"facts"``: find how many facts can be stored so that half of the repeats succeed, with a 95% interval. ``None``: no search.
        half_width: half width of that interval, relative to the estimate, at which to stop, above 0 and below 1; ``None``: 0.05.
        max_runs: maximum number of memories in the search; ``None``: 400.
        threads: as for :meth:`Config.run`.
        device: as for :meth:`Config.run`, for the training of memories.
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
        embedding_file=None if embedding_file is None else tensor_file("embedding_file", embedding_file),
        embedding_tensor=embedding_tensor,
        labels=labels,
        zipf=zipf,
        optimiser=optimiser,
        rate=rate,
        steps=steps,
        batch=batch,
        convention=convention,
        accuracy=accuracy,
        top=top,
        repeats=repeats,
        seed=seed,
        find=find,
        half_width=half_width,
        max_runs=max_runs,
    )
    given = {name: value for name, value in keys.items() if value is not None}
    arrays = _arrays.tensors(dict(z_in=z_in))
    return MemoryResult(_experiment("memory", given, threads, progress, arrays, device=device), "memory")


def sweep(
    file: Union[Path, Config, None] = None,
    *,
    axes: Optional[Mapping[str, Any]] = None,
    points: Optional[Iterable[Mapping[str, Any]]] = None,
    rays: Optional[Mapping[str, str]] = None,
    repeats: Optional[Number] = None,
    noise: bool = False,
    store: Optional[Path] = None,
    retry_failed: bool = False,
    threads: Optional[SupportsIndex] = None,
    device: Optional[str] = None,
    progress: Progress = None,
    **keys: Unpack[Keys],
) -> SweepResult:
    """Runs the sweep that a TOML file or the arguments describe: ``superpose sweep``. The table has a row per cell.

    The ``status`` of a cell is ``done``, ``failed``, or ``not run`` if memory is too small or the device cannot run it.

    A store keeps every cell; after Ctrl-C the same call runs the missing ones.

    Args:
        file: a TOML file that describes the whole sweep, which excludes the other arguments of the description; or a :class:`Config`,
            whose settings all cells have. Axes, points and rays take the place of its settings of the same name; a key that is given
            both as a keyword and by them is refused.
        axes: values by key; all combinations are run. Values are a list, an array, or a range, which is rounded for whole numbers:
            ``{"from": 100, "to": 10_000, "steps": 5, "scale": "geometric"}`` (or ``"linear"``).
        points: dictionaries of keys that vary together, each combined with the axes.
        rays: formulas by key, such as ``{"samples": "20 * vocab"}``.
        repeats: number of consecutive seeds for every cell; ``None``: 1.
        noise: whether to store the noise budget of every cell.
        store: SQLite file; ``None``: with a file, ``FILE.sqlite`` next to it, otherwise no store.
        retry_failed: whether to run failed cells again.
        threads: as for :meth:`Config.run`.
        device: as for :meth:`Config.run`.
        progress: as for :meth:`Config.run`.
        keys: settings of all cells, as for :class:`Config`, and the ``task`` and the arrays ``z_in``, ``z_out``, ``z_trig``, ``z_eos``
            and ``w_in`` of :meth:`Config.run`. With arrays or an ``embedding_file``, the keys that they decide cannot vary.

    >>> import superpose
    >>> found = superpose.sweep(axes={"samples": [500, 1000], "dim": [16, 32]}, vocab=32, length=4)
    >>> [(row["samples"], row["dim"]) for row in found.to_rows()]
    [(500, 16), (500, 32), (1000, 16), (1000, 32)]
    """
    given: Dict[str, Any] = dict(keys)
    arrays, given, listed = taken(given), with_files(named(given)), point_list(points)
    if isinstance(file, Config):
        varied = {*mapping("axes", axes), *mapping("rays", rays), *(name for point in listed or () for name in point)}
        fixed = {name: value for name, value in file._given().items() if name not in varied}
        given, file = {**fixed, **given}, None
        repeats = given.pop("repeats", None) if repeats is None else repeats
    source, kept = maybe_path("file", file), maybe_path("store", store)
    if source is not None:
        described = {"axes": axes, "points": points, "rays": rays, "repeats": repeats, "noise": noise or None, **given}
        others = [name for name, value in described.items() if value is not None]
        if others:
            raise ValueError(f"{', '.join(others)} given together with a file: the file describes the sweep; put it there")
        text = text_of(source)
        kept = os.path.splitext(source)[0] + ".sqlite" if kept is None else kept
    else:
        text = sweep_text({**given, "repeats": repeats, "noise": noise}, axes, listed, rays)
    with listener(progress) as tell:
        try:
            record = _engine.sweep(text, source is not None, arrays, kept, retry_failed, threads, device, tell)
        except ValueError as error:
            raise error if source is None else ValueError(f"{source}: {error}") from None
    return SweepResult(record, "sweep")
