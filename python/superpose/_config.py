"""A configuration: what ``superpose run`` takes, by the same names, with the same defaults."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Dict, Optional, Union

from . import _arrays, _engine
from ._model import Model
from ._progress import Progress, listener
from ._result import Result
from ._training import Training

Path = Union[str, "os.PathLike[str]"]

#: Keys whose values are files.
_FILES = ("embedding_file", "import")


class Config(_engine.Config):
    """Everything that decides the outcome of a run. All arguments are keywords.

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
    """

    __slots__ = ()

    def __new__(cls, **keys: Any) -> "Config":
        # import is a word of the language; a trailing underscore is how one writes it all the same.
        if "import_" in keys:
            keys["import"] = keys.pop("import_")
        for name in _FILES:
            if keys.get(name) is not None:
                keys[name] = os.fspath(keys[name])
        return super().__new__(cls, **keys)

    @classmethod
    def from_toml(cls, path: Path) -> "Config":
        """The configuration in a TOML file, as ``superpose run --config`` takes it."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return cls(**cls._read_toml(text))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def to_dict(self) -> Dict[str, Any]:
        """All settings by name, defaults included."""
        return json.loads(self._json())

    def replace(self, **keys: Any) -> "Config":
        """The same configuration with some settings changed; ``None`` puts one back to its default."""
        if "import_" in keys:
            keys["import"] = keys.pop("import_")
        return type(self)(**{**self._given(), **keys})

    def _given(self) -> Dict[str, Any]:
        settings = self.to_dict()
        return {name: settings[name] for name in self._names()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        settings = _written(self.to_dict())
        if name in settings:
            return settings[name]
        raise AttributeError(f"no setting {name}: there are {', '.join(settings)}")

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
        threads: Optional[int] = None,
        progress: Progress = None,
    ) -> Result:
        """Trains and evaluates the model, every repeat of it: ``superpose run``.

        Arrays take the place of what would be drawn, as with ``--import``, and decide the sizes: input and output embeddings
        ``z_in`` (a row per token) and ``z_out`` (a row per label), the trigger ``z_trig``, the end-of-sequence vector
        ``z_eos``, the first layer ``w_in`` of the MLP, the dataset ``tokens`` (a row per sample), ``position`` and
        ``labels``. They may be NumPy arrays, torch tensors, JAX arrays or anything with DLPack or the array interface.
        Results are the same for any number of ``threads``. ``export`` writes the tensors of the first repeat to a safetensors
        file. ``progress`` is ``False`` for no bar, or a function of (done, total, note).

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
            return Result(_engine.run(self, arrays, threads, export, tell))

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
        threads: Optional[int] = None,
        progress: Progress = None,
    ) -> Training:
        """Trains the model for the configuration's ``steps``: ``superpose train``. How (``optimiser``, ``rate``, ``schedule``,
        ``batch``, ``warm_start``, ...) and what (``heads``, ``factored``, ``train_embeddings``, ...) are keys of the configuration.

        ``checkpoint`` is a safetensors file, renewed at every record, at the end and on Ctrl-C. If it is there already the run goes
        on from it, bit for bit; ``Config().train(checkpoint=...)`` needs nothing else. The command line reads and writes the
        same files. ``store`` keeps the result and its trajectory. Arrays, ``threads`` and ``progress`` are as for :meth:`run`; arrays
        are not in a checkpoint, so give them again to go on.

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
            return Training(*_engine.train(self, arrays, checkpoint, store, threads, tell))

    def predict(self, *, accuracy: float = 0.5) -> Result:
        """What :meth:`run` would measure, in closed form: ``superpose predict``. ``accuracy`` is what the critical sizes are for.

        >>> import superpose
        >>> prediction = superpose.Config(samples=65536).predict()
        >>> 0 < prediction.accuracy < 1
        True
        """
        return Result(_engine.predict(self, accuracy))

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
        threads: Optional[int] = None,
        progress: Progress = None,
    ) -> Model:
        """Trains the model of the first repeat and hands it over with all its arrays. Arguments as for :meth:`run`.

        >>> import superpose
        >>> model = superpose.Config(vocab=64, dim=32, samples=4096).model()
        >>> model.m1.shape, model.m1.dtype
        ((32, 32), dtype('float32'))
        """
        given = dict(z_in=z_in, z_out=z_out, z_trig=z_trig, z_eos=z_eos, w_in=w_in, tokens=tokens, position=position, labels=labels)
        arrays = _arrays.tensors(given)
        with listener(progress) as tell:
            return Model(_engine.Model(self, arrays, threads, tell))


def _rebuilt(kind: type, keys: Dict[str, Any]) -> Config:
    return kind(**keys)


def _written(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys as one writes them: import is a word of the language."""
    return {"import_" if name == "import" else name: value for name, value in keys.items()}


def _signature() -> inspect.Signature:
    """All keys with the engine's own defaults, for those who ask what there is."""
    defaults = _written(Config().to_dict())
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()])


Config.__signature__ = _signature()
