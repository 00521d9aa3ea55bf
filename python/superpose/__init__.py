"""How many facts can a transformer learn to recall? Measure it, predict it, see what limits it."""

from ._config import Config
from ._model import Gradients, Model
from ._result import Fields, Result

__all__ = ["Config", "Fields", "Gradients", "Model", "Result"]
