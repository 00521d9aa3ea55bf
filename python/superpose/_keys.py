# Written from the code by `cargo xtask reference`. Change the definitions of settings, not this file.
"""The keywords that experiments take, for type checkers."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict

from ._arrays import Embeddings
from ._given import Number, Path
from ._task import Task


class Keys(Embeddings, total=False):
    """Settings of one cell, embeddings and a task."""

    vocab: Number
    dim: Number
    length: Number
    samples: Number
    width: Optional[Number]
    activation: Literal["relu", "gelu", "tanh", "softplus", "abs", "he2", "he3", "identity"]
    output_embedding: Optional[str]
    import_: Optional[Path]
    input_digest: Optional[str]
    trigger: Literal["values", "keys"]
    labels: str
    zipf: Optional[Number]
    noise_zipf: Optional[Number]
    noise_vocab: Optional[Number]
    regime: Literal["exact", "infinitesimal"]
    early_rule: Literal["gradient", "sign", "muon", "newton"]
    rounds: Number
    accumulate: bool
    eta: Number
    gamma: Optional[Number]
    eta2: Optional[Number]
    lead: Number
    precision: Literal["f32", "f64"]
    keep: Optional[Number]
    test_samples: Number
    seed: Number
    embedding: Literal["gaussian", "sphere", "orthonormal", "rademacher", "file", "low_rank", "clustered", "power_law"]
    rank: Optional[Number]
    clusters: Optional[Number]
    spread: Optional[Number]
    decay: Optional[Number]
    embedding_file: Optional[Path]
    embedding_tensor: Optional[str]
    steps: Number
    optimiser: Literal["sgd", "adam", "adamw", "muon"]
    rate: Number
    schedule: Literal["constant", "cosine"]
    batch: Optional[Number]
    momentum: Optional[Number]
    weight_decay: Number
    gradient_clip: Optional[Number]
    every: Optional[Number]
    early_stopping: Optional[Number]
    warm_start: bool
    heads: Number
    positions: Literal["none", "sinusoidal", "learned", "rotary"]
    factored: bool
    train_embeddings: bool
    train_first_layer: bool
    task: Optional[Task]


class RepeatKeys(Keys, total=False):
    """The same with a number of repeats."""

    repeats: Number


class BoundKeys(Embeddings, total=False):
    """Settings of ``bound``."""

    vocab: Number
    dim: Number
    length: Number
    width: Optional[Number]
    activation: Literal["relu", "gelu", "tanh", "softplus", "abs", "he2", "he3", "identity"]
    output_embedding: Optional[str]
    import_: Optional[Path]
    trigger: Literal["values", "keys"]
    seed: Number
    embedding: Literal["gaussian", "sphere", "orthonormal", "rademacher", "file"]
    embedding_file: Optional[Path]
    embedding_tensor: Optional[str]


class EstimateKeys(TypedDict, total=False):
    """Settings of ``estimate``."""

    vocab: Number
    dim: Number
    length: Number
    samples: Number
    width: Optional[Number]
    activation: Literal["relu", "gelu", "tanh", "softplus", "abs", "he2", "he3", "identity"]
    output_embedding: Optional[str]
    import_: Optional[Path]
    input_digest: Optional[str]
    trigger: Literal["values", "keys"]
    labels: str
    zipf: Optional[Number]
    noise_zipf: Optional[Number]
    noise_vocab: Optional[Number]
    regime: Literal["exact", "infinitesimal"]
    early_rule: Literal["gradient", "sign", "muon", "newton"]
    rounds: Number
    accumulate: bool
    eta: Number
    gamma: Optional[Number]
    eta2: Optional[Number]
    lead: Number
    precision: Literal["f32", "f64"]
    keep: Optional[Number]
    test_samples: Number
    repeats: Number
    seed: Number
    embedding: Literal["gaussian", "sphere", "orthonormal", "rademacher", "file", "low_rank", "clustered", "power_law"]
    rank: Optional[Number]
    clusters: Optional[Number]
    spread: Optional[Number]
    decay: Optional[Number]
    embedding_file: Optional[Path]
    embedding_tensor: Optional[str]
    steps: Number
    optimiser: Literal["sgd", "adam", "adamw", "muon"]
    rate: Number
    schedule: Literal["constant", "cosine"]
    batch: Optional[Number]
    momentum: Optional[Number]
    weight_decay: Number
    gradient_clip: Optional[Number]
    every: Optional[Number]
    early_stopping: Optional[Number]
    warm_start: bool
    heads: Number
    positions: Literal["none", "sinusoidal", "learned", "rotary"]
    factored: bool
    train_embeddings: bool
    train_first_layer: bool
