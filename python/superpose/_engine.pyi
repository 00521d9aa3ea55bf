"""The compiled part of the package; the rest of it is what people call."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy

from ._config import Path

Listener = Optional[Callable[[int, int, str], Any]]
Array = numpy.ndarray[Any, numpy.dtype[Any]]
version: str

class Config:
    def __new__(cls, **keys: Any) -> "Config": ...
    @staticmethod
    def _read_toml(text: str) -> Dict[str, Any]: ...
    def _json(self) -> str: ...
    def _names(self) -> List[str]: ...

class Record:
    def json(self) -> str: ...
    def text(self) -> str: ...

class Model:
    def __new__(
        cls,
        config: Config,
        tensors: Dict[str, Array],
        threads: Optional[int],
        listener: Listener,
    ) -> "Model": ...
    def config(self) -> str: ...
    def rates(self) -> Tuple[float, float, int]: ...
    def tensor(self, name: str) -> Array: ...
    def attention(self, w: Any, tokens: Any, position: Any, threads: Optional[int] = None) -> Array: ...
    def logits(self, m: Any, w: Any, tokens: Any, position: Any, threads: Optional[int] = None) -> Array: ...
    def gradients(
        self, m: Any, w: Any, threads: Optional[int] = None, listener: Listener = None
    ) -> Tuple[float, Array, Array]: ...

class Network:
    def names(self) -> List[str]: ...
    def tensor(self, name: str) -> Array: ...

def run(
    config: Config,
    tensors: Dict[str, Array],
    threads: Optional[int],
    export: Optional[Path],
    listener: Listener,
) -> Record: ...
def train(
    config: Config,
    tensors: Dict[str, Array],
    checkpoint: Optional[Path],
    store: Optional[Path],
    threads: Optional[int],
    listener: Listener,
) -> Tuple[Record, Network]: ...
def memory(
    keys: Dict[str, Any],
    find: Optional[str],
    precision: Optional[float],
    max_runs: Optional[float],
    threads: Optional[int],
    listener: Listener,
) -> Record: ...
def time_runs(config: Config, count: int) -> List[float]: ...
def predict(config: Config, accuracy: float) -> Record: ...
def plan(
    facts: float,
    length: float,
    accuracy: float,
    dim: Optional[float],
    width: Optional[float],
    activation: Optional[str],
    trigger: str,
    samples: Optional[float],
    max_parameters: Optional[float],
) -> Record: ...
def threshold(
    config: Config,
    find: str,
    accuracy: float,
    precision: float,
    criterion: str,
    measure: str,
    max_runs: float,
    range: Optional[Tuple[float, float]],
    store: Optional[Path],
    threads: Optional[int],
    listener: Listener,
) -> Record: ...
def phase(
    config: Config,
    x: Tuple[str, Any, Any, str],
    y: Tuple[str, Any, Any, str],
    resolution: float,
    accuracy: float,
    measure: str,
    most: float,
    store: Optional[Path],
    threads: Optional[int],
    listener: Listener,
) -> Record: ...
def bound(config: Config, accuracy: float, seeds: float, threads: Optional[int], listener: Listener) -> Record: ...
def inspect(
    file: Path,
    tensor: Optional[str],
    output_tensor: Optional[str],
    accuracy: float,
    threads: Optional[int],
    listener: Listener,
) -> Record: ...
def sweep(
    text: str,
    lines: bool,
    store: Optional[Path],
    retry_failed: bool,
    threads: Optional[int],
    listener: Listener,
) -> Record: ...
