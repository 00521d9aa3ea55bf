"""A configuration: what ``superpose run`` takes, by the same names, with the same defaults."""

from __future__ import annotations

import functools
import inspect
import json
from typing import Any, ClassVar, Dict, Optional, SupportsIndex, Type

from . import _arrays, _engine, _tables
from ._given import Number, Path, maybe_path, text_of
from ._given import path as _path
from ._model import Model
from ._progress import Progress, listener
from ._result import Result
from ._training import Training

#: Keys whose values are files.
_FILES = ("embedding_file", "import")

#: Keys that every record writes down, at their default or not.
_RECORDED = frozenset(
    ("vocab", "dim", "length", "samples", "width", "activation", "embedding", "trigger", "labels", "zipf", "noise_vocab")
    + ("regime", "eta", "gamma", "eta2", "lead", "precision", "test_samples", "repeats", "seed")
)

#: Arrays that a call takes.
_TENSORS = frozenset(("z_in", "z_out", "z_trig", "z_eos", "w_in", "tokens", "position", "labels"))


class Config(_engine.Config):
    """Everything that decides the outcome of a run. All arguments are keywords; each is also an attribute.

    >>> import superpose
    >>> config = superpose.Config(vocab=64, dim=64, samples=4096, trigger="keys")
    >>> config
    Config(dim=64, samples=4096, trigger='keys', vocab=64)
    >>> config.length
    16
    >>> config.replace(samples=8192).samples
    8192

    A value that cannot be is refused at once:

    >>> superpose.Config(embedding="orthonormal")
    Traceback (most recent call last):
    ...
    ValueError: dim = 128: orthonormal embeddings need dim of at least vocab + 2 = 514

    A configuration goes round: ``Config(**config.to_dict())``, ``Config(**result.config)``, ``eval(repr(config))`` and a pickle are equal to it.

    Args:
        vocab: facts V, one per token, from 2 on. Whole numbers may be written 1e6, here and below.
        dim: embedding dimension d, from 1 on.
        length: sequence length L, from 1 on.
        samples: training samples N, from 1 on.
        width: width m of the MLP, from 1 on; a width makes it the attention-MLP model.
        activation: of the MLP: ``"relu"``, ``"gelu"``, ``"tanh"``, ``"softplus"``, ``"abs"``, ``"he2"``, ``"he3"`` or ``"identity"``.
        embedding: ``"gaussian"``, ``"sphere"``, ``"orthonormal"``, ``"rademacher"``, ``"low_rank"``, ``"clustered"`` or ``"file"``.
        embedding_file: safetensors file whose rows are the input embeddings.
        embedding_tensor: name of the matrix in that file; ``vocab`` of its rows are drawn, and its columns are the dimension.
        output_embedding: ``"tied"`` to the input, or another matrix of the file by name.
        import_: safetensors file to take ``z_in``, ``z_out``, ``z_trig``, ``z_eos``, ``w_in``, ``tokens``, ``position`` and ``labels`` from; what is
            missing is generated.
        trigger: ``"values"``, in keys and values, or ``"keys"``, in keys only.
        labels: ``"permutation"``, or ``"mod:M"`` for M classes, from 2 to ``vocab``.
        zipf: exponent of Zipf's law, from 0 to 10, to draw tokens by instead of uniformly.
        noise_vocab: size of a vocabulary of their own for the noise tokens, from 1 on.
        regime: ``"infinitesimal"``, the limit of a small first rate, or ``"exact"``.
        eta: rate of step 1, from 1e-20 to 1e20.
        gamma: rate of step 2, at most 1e30 in size; ``None``: set by the lead. Not together with ``lead``.
        eta2: rate of step 3, at most 1e30 in size; ``None``: that of step 2.
        lead: the trigger's lead over an average token, in units of ln(L + 1), above 0 and at most 1e6.
        precision: floating-point type of the large arrays, ``"f32"`` or ``"f64"``.
        test_samples: fresh sequences to test on, from 2 on.
        repeats: repeats, with consecutive seeds, from 1 to 1,000,000.
        seed: seed of everything random, from 0 on.
        rank: dimensions that the rows of ``low_rank`` embeddings span, from 1 to ``dim``.
        clusters: centres of ``clustered`` embeddings, from 1 to the number of tokens.
        spread: part of a clustered row that is its own, from 0 to 1; ``None``: 0.5.
        steps: training steps for :meth:`train`; 0: the three steps of the early phase alone. The keys below need it.
        optimiser: ``"adamw"``, ``"adam"``, ``"sgd"`` or ``"muon"``.
        rate: rate of the optimiser, above 0 and at most 1e20.
        schedule: the rate over the steps, ``"constant"`` or ``"cosine"``.
        batch: samples in a step, from 1 on; ``None``: all.
        momentum: of sgd (``None``: 0) and muon (``None``: 0.95), at least 0 and below 1.
        weight_decay: weight decay, from 0 to 1e6.
        every: steps between two records of the trajectory; ``None``: a fiftieth of all.
        early_stopping: stop after so many records without a smaller loss on the test samples.
        warm_start: whether to start where the early phase ends.
        heads: attention heads, from 1 to 1024.
        positions: ``"none"``, ``"sinusoidal"``, ``"learned"`` or ``"rotary"``.
        factored: whether W is trained as a product of a key and a query matrix.
        train_embeddings: whether the embeddings are trained, too.
        train_first_layer: whether the first layer of the MLP is trained, too; needs ``width``.
    """

    __slots__ = ()
    __signature__: ClassVar[inspect.Signature]

    def __new__(cls, **keys: Any) -> "Config":
        keys = _named(keys)
        if _RECORDED <= keys.keys():
            # A whole configuration, as a record has it: what is at its default was not chosen.
            keys = {name: value for name, value in keys.items() if value != _defaults().get(name)}
        for name in _FILES:
            if keys.get(name) is not None:
                keys[name] = _path(name, keys[name])
        _refuse_arrays(keys.get("import"))
        return super().__new__(cls, **keys)

    @classmethod
    def from_toml(cls, path: Path) -> "Config":
        """The configuration in a TOML file, as ``superpose run --config`` takes it.

        Args:
            path: the file. One that is missing is an ``OSError``; what cannot be in it, a ``ValueError`` that names it.
        """
        file = _path("path", path)
        text = text_of(file)
        try:
            return cls(**cls._read_toml(text))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file}: {error}") from None

    def to_dict(self) -> Dict[str, Any]:
        """All settings by name, defaults included."""
        settings: Dict[str, Any] = json.loads(self._json())
        return settings

    def replace(self, **keys: Any) -> "Config":
        """The same configuration with some settings changed; ``None`` puts one back to its default.

        Args:
            keys: those of :class:`Config`.
        """
        return type(self)(**{**self._given(), **_named(keys)})

    def _given(self) -> Dict[str, Any]:
        settings = self.to_dict()
        return {name: settings[name] for name in self._names()}

    def __getattr__(self, name: str) -> Any:
        # Settings are properties, so this is none.
        raise AttributeError(name if name.startswith("_") else f"no setting {name}: there are {', '.join(_written(_defaults()))}")

    def _repr_html_(self) -> str:
        given = _written(self._given())
        lines = [{"setting": name, "value": value, "": "given" if name in given else ""} for name, value in _written(self.to_dict()).items()]
        lines = [line for line in lines if line["value"] is not None]
        return f"<table>{_tables.table(lines, len(lines))}</table>"

    def __repr__(self) -> str:
        keys = ", ".join(f"{name}={value!r}" for name, value in _written(self._given()).items())
        return f"{type(self).__name__}({keys})"

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self._given())

    def run(
        self,
        *,
        z_in: Any = None,
        z_out: Any = None,
        z_trig: Any = None,
        z_eos: Any = None,
        w_in: Any = None,
        tokens: Any = None,
        position: Any = None,
        labels: Any = None,
        export: Optional[Path] = None,
        threads: Optional[SupportsIndex] = None,
        progress: Progress = None,
    ) -> Result:
        """Trains and evaluates the model, every repeat of it: ``superpose run``.

        Arrays take the place of what would be drawn, as with ``--import``, and decide the sizes. They may be NumPy arrays, torch
        tensors, JAX arrays or anything with DLPack or the array interface.

        Args:
            z_in: input embeddings, floating-point numbers, a row per token.
            z_out: output embeddings, a row per label.
            z_trig: the trigger, a vector.
            z_eos: the end-of-sequence vector.
            w_in: first layer of the MLP, a row per unit.
            tokens: the dataset, whole numbers from 0, a row per sample; with ``position``.
            position: the informative position of every sample, from 0.
            labels: the label of every sample; without them the configuration's ``labels`` decide.
            export: safetensors file to write the tensors of the first repeat to.
            threads: from 1 to 1024; ``None``: one per core. Results are the same for any number.
            progress: ``None``: a bar of tqdm where that is installed and someone looks; ``True``, ``False``, or a function of
                (done, total, note) to call.

        >>> import superpose
        >>> result = superpose.Config(vocab=64, dim=64, samples=4096).run()
        >>> result.accuracy.low <= result.accuracy.mean <= result.accuracy.high
        True

        With embeddings of one's own:

        >>> import numpy
        >>> rows = numpy.random.default_rng(0).standard_normal((50, 40)) / 40**0.5
        >>> superpose.Config(samples=2000).run(z_in=rows).config.vocab
        50
        """
        given = dict(z_in=z_in, z_out=z_out, z_trig=z_trig, z_eos=z_eos, w_in=w_in, tokens=tokens, position=position, labels=labels)
        arrays = _arrays.tensors(given)
        with listener(progress) as tell:
            return Result(_engine.run(self, arrays, threads, maybe_path("export", export), tell), "run")

    def train(
        self,
        *,
        checkpoint: Optional[Path] = None,
        store: Optional[Path] = None,
        z_in: Any = None,
        z_out: Any = None,
        z_trig: Any = None,
        z_eos: Any = None,
        w_in: Any = None,
        tokens: Any = None,
        position: Any = None,
        labels: Any = None,
        threads: Optional[SupportsIndex] = None,
        progress: Progress = None,
    ) -> Training:
        """Trains the model for the configuration's ``steps``: ``superpose train``. How (``optimiser``, ``rate``, ``schedule``,
        ``batch``, ``warm_start``, ...) and what (``heads``, ``factored``, ``train_embeddings``, ...) are keys of the configuration.

        Args:
            checkpoint: safetensors file, renewed at every record, at the end and on Ctrl-C. If it is there already the run goes on
                from it, bit for bit; ``Config().train(checkpoint=...)`` needs nothing else. The command line reads and
                writes the same files.
            store: SQLite file that keeps the result and its trajectory.
            z_in, z_out, z_trig, z_eos, w_in, tokens, position, labels: arrays, as for :meth:`run`. They are not in a checkpoint,
                so give them again to go on.
            threads: as for :meth:`run`.
            progress: as for :meth:`run`.

        >>> import superpose
        >>> config = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=40, rate=0.05, schedule="cosine")
        >>> training = config.train()
        >>> training.steps_taken, training.trajectory[-1].loss < training.trajectory[0].loss
        (40, True)
        >>> training.tensors()["m"].shape
        (16, 16)

        What is saved goes on:

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "run.safetensors"
        ...     saved = config.train(checkpoint=path)
        ...     again = superpose.Config().train(checkpoint=path)
        >>> again.trajectory == training.trajectory
        True
        """
        given = dict(z_in=z_in, z_out=z_out, z_trig=z_trig, z_eos=z_eos, w_in=w_in, tokens=tokens, position=position, labels=labels)
        arrays = _arrays.tensors(given)
        with listener(progress) as tell:
            return Training(*_engine.train(self, arrays, maybe_path("checkpoint", checkpoint), maybe_path("store", store), threads, tell))

    def predict(self, *, accuracy: Number = 0.5) -> Result:
        """What :meth:`run` would measure, in closed form: ``superpose predict``.

        Args:
            accuracy: what the critical sizes are for, above 0 and below 1.

        >>> import superpose
        >>> prediction = superpose.Config(samples=65536).predict()
        >>> 0 < prediction.accuracy < 1
        True
        """
        return Result(_engine.predict(self, accuracy), "predict")

    def model(
        self,
        *,
        z_in: Any = None,
        z_out: Any = None,
        z_trig: Any = None,
        z_eos: Any = None,
        w_in: Any = None,
        tokens: Any = None,
        position: Any = None,
        labels: Any = None,
        threads: Optional[SupportsIndex] = None,
        progress: Progress = None,
    ) -> Model:
        """Trains the model of the first repeat and hands it over with all its arrays.

        Args:
            z_in, z_out, z_trig, z_eos, w_in, tokens, position, labels: arrays, as for :meth:`run`.
            threads: as for :meth:`run`.
            progress: as for :meth:`run`.

        >>> import superpose
        >>> model = superpose.Config(vocab=64, dim=32, samples=4096).model()
        >>> model.m1.shape, model.m1.dtype
        ((32, 32), dtype('float32'))
        """
        given = dict(z_in=z_in, z_out=z_out, z_trig=z_trig, z_eos=z_eos, w_in=w_in, tokens=tokens, position=position, labels=labels)
        arrays = _arrays.tensors(given)
        with listener(progress) as tell:
            return Model(_engine.Model(self, arrays, threads, tell))


def _rebuilt(kind: Type[Config], keys: Dict[str, Any]) -> Config:
    return kind(**keys)


def _named(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys as the engine has them. import is a word of the language; a trailing underscore is how one writes it all the same."""
    if "import_" not in keys:
        return keys
    if "import" in keys:
        raise ValueError("import and import_ are both given: they are the same key; give one of them")
    return {"import" if name == "import_" else name: value for name, value in keys.items()}


def _written(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys as one writes them."""
    return {"import_" if name == "import" else name: value for name, value in keys.items()}


def _refuse_arrays(source: Any) -> None:
    """A record says of arrays that there were some, which no file will bring back."""
    if isinstance(source, str) and source.startswith("arrays "):
        names = source[len("arrays ") :].split(", ")
        if set(names) <= _TENSORS:
            again = ", ".join(f"{name}=..." for name in names)
            raise ValueError(f"import = {source}: arrays are not part of a configuration; leave import out and give them to the call: run({again})")


@functools.lru_cache(maxsize=None)
def _defaults() -> Dict[str, Any]:
    return Config().to_dict()


def _signature() -> inspect.Signature:
    """All keys with the engine's own defaults, for those who ask what there is."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    defaults = _written(_defaults())
    return inspect.Signature([inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()])


def _setting(name: str) -> property:
    return property(lambda config: config.to_dict()[name], doc=f"The setting {name}.")


Config.__signature__ = _signature()
for _name in _defaults():
    setattr(Config, *_written({_name: _setting(_name)}).popitem())
