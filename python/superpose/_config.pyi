import inspect
from typing import Any, ClassVar, Dict, Optional, SupportsIndex

from . import _engine
from ._given import Number, Path
from ._model import Model
from ._progress import Progress
from ._result import Result
from ._training import Training

class Config(_engine.Config):
    __signature__: ClassVar[inspect.Signature]
    def __new__(
        cls,
        *,
        vocab: Number = 512,
        dim: Number = 128,
        length: Number = 16,
        samples: Number = 8192,
        width: Optional[Number] = None,
        activation: str = "relu",
        embedding: str = "gaussian",
        embedding_file: Optional[Path] = None,
        embedding_tensor: Optional[str] = None,
        output_embedding: Optional[str] = None,
        import_: Optional[Path] = None,
        trigger: str = "values",
        labels: str = "permutation",
        zipf: Optional[Number] = None,
        noise_vocab: Optional[Number] = None,
        regime: str = "infinitesimal",
        eta: Number = 1.0,
        gamma: Optional[Number] = None,
        eta2: Optional[Number] = None,
        lead: Number = 4.0,
        precision: str = "f32",
        test_samples: Number = 4096,
        repeats: Number = 1,
        seed: Number = 0,
        rank: Optional[Number] = None,
        clusters: Optional[Number] = None,
        spread: Optional[Number] = None,
        steps: Number = 0,
        optimiser: str = "adamw",
        rate: Number = 0.01,
        schedule: str = "constant",
        batch: Optional[Number] = None,
        momentum: Optional[Number] = None,
        weight_decay: Number = 0.0,
        every: Optional[Number] = None,
        early_stopping: Optional[Number] = None,
        warm_start: bool = False,
        heads: Number = 1,
        positions: str = "none",
        factored: bool = False,
        train_embeddings: bool = False,
        train_first_layer: bool = False,
    ) -> "Config": ...
    @property
    def vocab(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def width(self) -> Optional[int]: ...
    @property
    def activation(self) -> str: ...
    @property
    def embedding(self) -> str: ...
    @property
    def embedding_file(self) -> Optional[str]: ...
    @property
    def embedding_tensor(self) -> Optional[str]: ...
    @property
    def output_embedding(self) -> Optional[str]: ...
    @property
    def import_(self) -> Optional[str]: ...
    @property
    def trigger(self) -> str: ...
    @property
    def labels(self) -> str: ...
    @property
    def zipf(self) -> Optional[float]: ...
    @property
    def noise_vocab(self) -> Optional[int]: ...
    @property
    def regime(self) -> str: ...
    @property
    def eta(self) -> float: ...
    @property
    def gamma(self) -> Optional[float]: ...
    @property
    def eta2(self) -> Optional[float]: ...
    @property
    def lead(self) -> float: ...
    @property
    def precision(self) -> str: ...
    @property
    def test_samples(self) -> int: ...
    @property
    def repeats(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def rank(self) -> Optional[int]: ...
    @property
    def clusters(self) -> Optional[int]: ...
    @property
    def spread(self) -> Optional[float]: ...
    @property
    def steps(self) -> int: ...
    @property
    def optimiser(self) -> str: ...
    @property
    def rate(self) -> float: ...
    @property
    def schedule(self) -> str: ...
    @property
    def batch(self) -> Optional[int]: ...
    @property
    def momentum(self) -> Optional[float]: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def every(self) -> Optional[int]: ...
    @property
    def early_stopping(self) -> Optional[int]: ...
    @property
    def warm_start(self) -> bool: ...
    @property
    def heads(self) -> int: ...
    @property
    def positions(self) -> str: ...
    @property
    def factored(self) -> bool: ...
    @property
    def train_embeddings(self) -> bool: ...
    @property
    def train_first_layer(self) -> bool: ...
    @classmethod
    def from_toml(cls, path: Path) -> "Config": ...
    def to_dict(self) -> Dict[str, Any]: ...
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...
    def replace(self, **keys: Any) -> "Config": ...
    def predict(self, *, accuracy: Number = 0.5) -> Result: ...
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
    ) -> Result: ...
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
    ) -> Training: ...
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
    ) -> Model: ...
