"""The compiled part of the package, called by its Python modules. It is not a public interface."""

from typing import Any, Callable, Dict, List, Optional, Sequence, SupportsIndex, Tuple, final

import numpy
from typing_extensions import disjoint_base

from ._given import Number

_Listener = Optional[Callable[[int, int, str], Any]]
_Array = numpy.ndarray[Any, numpy.dtype[Any]]
version: str

__all__ = [
    "version",
    "_definitions",
    "Config",
    "Record",
    "share",
    "Model",
    "Network",
    "run",
    "train",
    "time_runs",
    "predict",
    "plan",
    "threshold",
    "phase",
    "experiment",
    "inspect",
    "sweep",
    "draw_task",
    "read_sequences",
    "write_sequences",
]

@disjoint_base
class Config:
    def __new__(cls, **keys: Any) -> "Config": ...
    @staticmethod
    def _read_toml(text: str) -> Dict[str, Any]: ...
    def _settings(self) -> Dict[str, Any]: ...
    def _names(self) -> List[str]: ...

@final
class Record:
    def json(self) -> str: ...
    def text(self) -> str: ...
    def html(self) -> str: ...
    def figure(self) -> Optional[Tuple[str, str]]: ...

def share(x: float) -> str: ...

@final
class Model:
    def __new__(
        cls,
        config: Config,
        tensors: Dict[str, _Array],
        threads: Optional[SupportsIndex],
        listener: _Listener,
    ) -> "Model": ...
    def config(self) -> str: ...
    def rates(self) -> Tuple[float, float, int]: ...
    def tensor(self, name: str) -> _Array: ...
    def attention(self, w: Any, tokens: Any, position: Any, threads: Optional[SupportsIndex] = None) -> _Array: ...
    def logits(self, m: Any, w: Any, tokens: Any, position: Any, threads: Optional[SupportsIndex] = None) -> _Array: ...
    def noise_parts(
        self, tokens: Any, position: Any, threads: Optional[SupportsIndex] = None
    ) -> Tuple[List[str], _Array]: ...
    def gradients(
        self, m: Any, w: Any, threads: Optional[SupportsIndex] = None, listener: _Listener = None
    ) -> Tuple[float, _Array, _Array]: ...

_Memory = Tuple[int, List[Tuple[int, _Array, _Array]]]

@final
class Network:
    def __new__(cls, config: Config, tensors: Dict[str, _Array], threads: Optional[SupportsIndex]) -> "Network": ...
    def config(self) -> str: ...
    def names(self) -> List[str]: ...
    def trained(self) -> List[str]: ...
    def tensor(self, name: str) -> _Array: ...
    def steps(self) -> int: ...
    def memory(self) -> _Memory: ...
    def replaced(self, tensors: Dict[str, _Array], memory: Optional[_Memory] = None) -> "Network": ...
    def data(self, threads: Optional[SupportsIndex] = None) -> Tuple[_Array, _Array, _Array]: ...
    def activations(
        self, names: List[str], tokens: Any, position: Any, threads: Optional[SupportsIndex] = None
    ) -> Dict[str, _Array]: ...
    def gradients(
        self, names: List[str], tokens: Any, position: Any, labels: Any, threads: Optional[SupportsIndex] = None
    ) -> Tuple[float, Dict[str, _Array]]: ...
    def step(
        self, tokens: Any, position: Any, labels: Any, threads: Optional[SupportsIndex] = None
    ) -> Tuple[float, "Network"]: ...

def run(
    config: Config,
    tensors: Dict[str, _Array],
    threads: Optional[SupportsIndex],
    device: Optional[str],
    export: Optional[str],
    listener: _Listener,
) -> Record: ...
def train(
    config: Config,
    tensors: Dict[str, _Array],
    checkpoint: Optional[str],
    store: Optional[str],
    threads: Optional[SupportsIndex],
    device: Optional[str],
    listener: _Listener,
    hook: Optional[Callable[..., Any]],
    loss: Optional[Callable[..., Any]],
) -> Tuple[Record, Network]: ...
def _definitions() -> Dict[str, Dict[str, Any]]: ...
def time_runs(config: Config, count: int) -> List[float]: ...
def predict(config: Config, tensors: Dict[str, _Array], accuracy: Number) -> Record: ...
def plan(keys: Dict[str, Any]) -> Record: ...
def threshold(
    config: Config,
    tensors: Dict[str, _Array],
    keys: Dict[str, Any],
    range: Optional[Sequence[Number]],
    store: Optional[str],
    threads: Optional[SupportsIndex],
    device: Optional[str],
    listener: _Listener,
) -> Record: ...
def phase(
    config: Config,
    tensors: Dict[str, _Array],
    x: Tuple[str, Any, Any],
    y: Tuple[str, Any, Any],
    keys: Dict[str, Any],
    store: Optional[str],
    threads: Optional[SupportsIndex],
    device: Optional[str],
    listener: _Listener,
) -> Record: ...
def experiment(
    name: str,
    keys: Dict[str, Any],
    tensors: Dict[str, _Array],
    threads: Optional[SupportsIndex],
    device: Optional[str],
    listener: _Listener,
    decoder: Optional[Callable[..., Any]],
) -> Record: ...
def inspect(
    file: str,
    is_array: bool,
    tensor: Optional[str],
    output_tensor: Optional[str],
    accuracy: Number,
    facts: Optional[Number],
    length: Number,
    trigger: str,
    threads: Optional[SupportsIndex],
    listener: _Listener,
) -> Record: ...
def sweep(
    text: str,
    lines: bool,
    tensors: Dict[str, _Array],
    store: Optional[str],
    retry_failed: bool,
    threads: Optional[SupportsIndex],
    device: Optional[str],
    listener: _Listener,
) -> Record: ...
def draw_task(
    config: Config, tensors: Dict[str, _Array], threads: Optional[SupportsIndex]
) -> Tuple[Tuple[_Array, _Array, _Array], Tuple[_Array, _Array, _Array]]: ...
def read_sequences(file: str, names: List[str]) -> List[_Array]: ...
def write_sequences(file: str, arrays: List[Tuple[str, _Array]]) -> None: ...
