"""A configuration: what ``superpose run`` takes, by the same names, with the same defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, SupportsIndex

from . import _arrays, _engine, _tables
from ._callbacks import engine_hook, engine_loss
from ._given import Number, Path, maybe_path, text_of
from ._given import path as _path
from ._inputs import inputs
from ._model import Model
from ._network import Network
from ._progress import Progress, listener
from ._settings import Settings, described, written
from ._task import Task
from ._training import Hook, Loss, Training
from .results import PredictResult, RunResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Config(Settings):
    """Everything that decides the outcome of a run. All settings are keywords; each is also an attribute.

    >>> import superpose
    >>> config = superpose.Config(vocab=64, dim=64, samples=4096, trigger="keys")
    >>> config
    Config(dim=64, samples=4096, trigger='keys', vocab=64)
    >>> config.length
    16
    >>> config.replace(samples=8192).samples
    8192

    A value that is not allowed is refused at once:

    >>> superpose.Config(embedding="orthonormal")
    Traceback (most recent call last):
    ...
    ValueError: dim = 128: orthonormal embeddings need dim of at least vocab + 2 = 514

    A configuration round-trips: ``Config(**config.to_dict())``, ``Config(**result.config)``, ``eval(repr(config))`` and a pickle are equal to it.
    """

    __slots__ = ()

    @classmethod
    def from_toml(cls, path: Path) -> "Config":
        """The configuration in a TOML file, as ``superpose run --config`` takes it.

        Args:
            path: the file. Raises ``OSError`` if the file is missing and ``ValueError`` if a key or value is invalid.
        """
        file = _path("path", path)
        text = text_of(file)
        try:
            return cls(**cls._read_toml(text))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file}: {error}") from None

    def _repr_html_(self) -> str:
        given = written(self._given())
        lines = [{"setting": name, "value": value, "": "given" if name in given else ""} for name, value in written(self.to_dict()).items()]
        lines = [line for line in lines if line["value"] is not None]
        return f"<table>{_tables.table(lines, len(lines))}</table>"

    def __repr__(self) -> str:
        keys = ", ".join(f"{name}={value!r}" for name, value in written(self._given()).items())
        return f"{type(self).__name__}({keys})"

    def run(
        self,
        *,
        export: Optional[Path] = None,
        threads: Optional[SupportsIndex] = None,
        device: Optional[str] = None,
        progress: Progress = None,
        task: Optional[Task] = None,
        **arrays: Unpack[_arrays.Tensors],
    ) -> RunResult:
        """Trains and evaluates the model, every repeat of it: ``superpose run``.

        Arrays take the place of what would be drawn, as with ``--import``, and decide the sizes. They may be NumPy arrays, torch
        tensors, JAX arrays or anything with DLPack or the array interface.

        Args:
            export: safetensors file to write the tensors of the first repeat to.
            threads: from 1 to 1024; ``None``: one per core. Results are the same for any number.
            device: ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"auto"``, a GPU where one works; ``None``: the CPU.
            progress: ``None``: a tqdm bar, or a line of text without tqdm, if output is interactive; ``True``, ``False``, or a function of
                (done, total, note) to call.
            task: training and test sequences, in place of the arrays ``tokens`` to ``test_labels``.
            arrays: any of the following, by name.
            z_in: input embeddings, floating-point numbers, a row per token.
            z_out: output embeddings, a row per label.
            z_trig: the trigger, a vector.
            z_eos: the end-of-sequence vector.
            w_in: first layer of the MLP, a row per unit.
            tokens: the dataset, whole numbers from 0, a row per sample; with ``position``.
            position: the informative position of every sample, from 0.
            labels: the label of every sample; without them the configuration's ``labels`` decide.
            test_tokens: the sequences of the test, a row per sample; with ``test_position``. Without them the test draws fresh sequences of the
                configuration, whatever the training data, and a token must have the same label in all training samples.
            test_position: the informative position of every test sample.
            test_labels: the label of every test sample; without them a token has the label that it has in training.

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
        tensors = inputs(task, arrays)
        with listener(progress) as tell:
            return RunResult(_engine.run(self, tensors, threads, device, maybe_path("export", export), tell), "run")

    def train(
        self,
        *,
        checkpoint: Optional[Path] = None,
        store: Optional[Path] = None,
        hook: Optional[Hook] = None,
        loss: Optional[Loss] = None,
        threads: Optional[SupportsIndex] = None,
        device: Optional[str] = None,
        progress: Progress = None,
        task: Optional[Task] = None,
        **arrays: Unpack[_arrays.Tensors],
    ) -> Training:
        """Trains the model for the configuration's ``steps``: ``superpose train``. How (``optimiser``, ``rate``, ``schedule``,
        ``batch``, ``warm_start``, ...) and what (``heads``, ``factored``, ``train_embeddings``, ...) are keys of the configuration.

        Args:
            checkpoint: safetensors file, renewed at every record, at the end and on Ctrl-C. If it is there already the run goes on
                from it, bit for bit; ``Config().train(checkpoint=...)`` needs nothing else. The command line reads and
                writes the same files.
            store: SQLite file that keeps the result and its trajectory.
            task: as for :meth:`run`.
            arrays: ``z_in`` to ``test_labels``, as for :meth:`run`. They are not in a checkpoint,
                so give them again to go on.
            hook: a function that is called before every step with a :class:`Step`, which has read-only copies of the trained arrays and
                their gradients. It returns ``None``, and the optimiser takes the step; a dictionary of arrays by name, which
                become the parameters, while the optimiser moves the others; or ``superpose.STOP``, which ends the run with its result.
            loss: a function of logits ``[n, labels]`` and labels ``[n]`` of the step's samples that returns the loss and its
                derivatives by the logits; ``None``: cross-entropy. The test loss stays the cross-entropy. Runs with a hook or a loss are
                not stored, and a checkpoint of them continues only if the function is given again.
            threads: as for :meth:`run`.
            device: as for :meth:`run`. A hook or a loss needs the CPU.
            progress: as for :meth:`run`.

        >>> import superpose
        >>> config = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=40, rate=0.05, schedule="cosine")
        >>> training = config.train()
        >>> training.steps_taken, training.trajectory[-1].loss < training.trajectory[0].loss
        (40, True)
        >>> training.tensors()["m"].shape
        (16, 16)

        Training continues from a checkpoint:

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "run.safetensors"
        ...     saved = config.train(checkpoint=path)
        ...     again = superpose.Config().train(checkpoint=path)
        >>> again.trajectory == training.trajectory
        True
        """
        tensors = inputs(task, arrays)
        paths = maybe_path("checkpoint", checkpoint), maybe_path("store", store)
        with listener(progress) as tell:
            record, network = _engine.train(
                self, tensors, *paths, threads, device, tell, engine_hook(hook), engine_loss(loss)
            )
        return Training(record, Network(network, (self, tensors)))

    def network(
        self,
        *,
        threads: Optional[SupportsIndex] = None,
        task: Optional[Task] = None,
        **arrays: Unpack[_arrays.Tensors],
    ) -> Network:
        """Returns the network that :meth:`train` starts from, for steps of one's own.

        Args:
            task: as for :meth:`run`.
            arrays: ``z_in`` to ``test_labels``, as for :meth:`run`.
            threads: as for :meth:`run`.

        >>> import superpose
        >>> network = superpose.Config(vocab=32, dim=16, length=4, samples=1000, steps=1, rate=0.05).network()
        >>> network.gradients().loss > network.step().gradients().loss
        True
        """
        tensors = inputs(task, arrays)
        return Network(_engine.Network(self, tensors, threads), (self, tensors))

    def task(self, *, threads: Optional[SupportsIndex] = None, **arrays: Unpack[_arrays.Tensors]) -> Task:
        """Returns the training and the test sequences that :meth:`run` would use, to look at, to change, or to share.

        Args:
            arrays: as for :meth:`run`.
            threads: as for :meth:`run`.

        >>> import superpose
        >>> config = superpose.Config(vocab=64, dim=64, samples=4096)
        >>> config.run(task=config.task()).accuracy == config.run().accuracy
        True
        """
        return Task(*_engine.draw_task(self, _arrays.inputs(arrays), threads))

    def predict(self, *, accuracy: Number = 0.5, **arrays: Unpack[_arrays.Embeddings]) -> PredictResult:
        """What :meth:`run` would measure, in closed form: ``superpose predict``.

        Args:
            accuracy: what the critical sizes are for, above 0 and below 1.
            arrays: ``z_in``, input embeddings as for :meth:`run`. Their statistics, like those of an ``embedding_file``, take the place of
                those of random vectors.

        >>> import superpose
        >>> prediction = superpose.Config(samples=65536).predict()
        >>> 0 < prediction.accuracy < 1
        True
        """
        return PredictResult(_engine.predict(self, _arrays.inputs(arrays), accuracy), "predict")

    def model(
        self,
        *,
        threads: Optional[SupportsIndex] = None,
        progress: Progress = None,
        task: Optional[Task] = None,
        **arrays: Unpack[_arrays.Tensors],
    ) -> Model:
        """Trains the model of the first repeat and returns it with its arrays.

        Args:
            task: as for :meth:`run`.
            arrays: ``z_in`` to ``test_labels``, as for :meth:`run`.
            threads: as for :meth:`run`.
            progress: as for :meth:`run`.

        >>> import superpose
        >>> model = superpose.Config(vocab=64, dim=32, samples=4096).model()
        >>> model.m1.shape, model.m1.dtype
        ((32, 32), dtype('float32'))
        """
        tensors = inputs(task, arrays)
        with listener(progress) as tell:
            return Model(_engine.Model(self, tensors, threads, tell), (self, tensors))


Config.__doc__ = f"{Config.__doc__}\n    Args:\n{described()}"
