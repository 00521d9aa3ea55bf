"""How many facts can a transformer learn to recall? Measure it, predict it, see what limits it.

>>> import superpose
>>> config = superpose.Config(vocab=64, dim=128, length=8, samples=8192)
>>> config.run().accuracy.mean > 0.9
True
>>> config.predict().accuracy > 0.9
True

Names are those of the command line: :class:`Config` with :meth:`Config.run`, :meth:`Config.predict`, :meth:`Config.train`
and :meth:`Config.model`, and the functions :func:`threshold`, :func:`phase`, :func:`sweep`, :func:`bound`, :func:`plan`,
:func:`estimate`, :func:`inspect` and :func:`memory`. Every experiment returns a :class:`Result`. A value that is not allowed raises a ``ValueError``.
"""

from ._config import Config
from ._decoding import FirstStep
from ._engine import version as __version__
from ._experiments import bound, estimate, inspect, memory, phase, plan, sweep, threshold
from ._model import Gradients, Model
from ._network import LossGradients, Network
from ._result import Fields, Result, load
from ._task import Data, Task
from ._training import STOP, Step, Training

__all__ = [
    "STOP",
    "Config",
    "Data",
    "Fields",
    "FirstStep",
    "Gradients",
    "LossGradients",
    "Model",
    "Network",
    "Result",
    "Step",
    "Task",
    "Training",
    "__version__",
    "bound",
    "estimate",
    "inspect",
    "load",
    "memory",
    "phase",
    "plan",
    "sweep",
    "threshold",
]
