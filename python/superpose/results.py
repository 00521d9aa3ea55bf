# Written from the code by `cargo xtask reference`. Change the records, not this file.
"""The fields of results, for type checkers: a class for each kind of result, for the objects in it, and for the words that options take.

Fields are those of ``--json``. A field that a result lacks raises an ``AttributeError``; ``get`` returns ``None``. Objects inside a
result are :class:`superpose.Fields` with these fields.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Type, Union

from ._result import Fields, Named, Result

ThresholdFind = Union[Literal["samples"], Literal["dim"], Literal["width"], Literal["length"], Literal["vocab"]]
ThresholdCriterion = Union[Literal["mean"], Literal["all"]]
ThresholdMeasure = Union[Literal["accuracy"], Literal["top_5_accuracy"], Literal["memory_accuracy"], Literal["one_step_accuracy"], Literal["lock_rate"], Literal["kept_rate"], Literal["attention_mass"]]
PhaseMeasure = Union[Literal["accuracy"], Literal["top_5_accuracy"], Literal["memory_accuracy"], Literal["one_step_accuracy"], Literal["lock_rate"], Literal["kept_rate"], Literal["attention_mass"]]
PlanTrigger = Union[Literal["values"], Literal["keys"]]
PlanActivation = Union[Literal["relu"], Literal["gelu"], Literal["tanh"], Literal["softplus"], Literal["abs"], Literal["he2"], Literal["he3"], Literal["identity"]]
MemoryRule = Union[Literal["hebbian"], Literal["least-squares"], Literal["trained"], Literal["hopfield"]]
MemoryEmbedding = Union[Literal["gaussian"], Literal["sphere"], Literal["rademacher"]]
MemoryOptimiser = Union[Literal["sgd"], Literal["adam"], Literal["adamw"], Literal["muon"]]
MemoryConvention = Union[Literal["converged"], Literal["literature"]]


class Settings(Fields):
    __slots__ = ()
    vocab: int
    dim: int
    length: int
    samples: int
    width: Optional[int]
    activation: str
    output_embedding: Optional[str]
    input_digest: Optional[str]
    trigger: str
    labels: str
    zipf: Optional[float]
    noise_zipf: Optional[float]
    noise_vocab: Optional[int]
    regime: str
    early_rule: str
    rounds: int
    accumulate: bool
    eta: float
    gamma: Optional[float]
    eta2: Optional[float]
    lead: float
    precision: str
    keep: Optional[int]
    test_samples: int
    repeats: int
    seed: int
    embedding: str
    rank: Optional[int]
    clusters: Optional[int]
    spread: Optional[float]
    decay: Optional[float]
    embedding_file: Optional[str]
    embedding_tensor: Optional[str]
    steps: int
    optimiser: str
    rate: float
    schedule: str
    batch: Optional[int]
    momentum: Optional[float]
    weight_decay: float
    gradient_clip: Optional[float]
    every: Optional[int]
    early_stopping: Optional[int]
    warm_start: bool
    heads: int
    positions: str
    factored: bool
    train_embeddings: bool
    train_first_layer: bool


class Interval(Fields):
    __slots__ = ()
    mean: float
    low: float
    high: float


class MeasuresOfArrayOfDouble(Fields):
    __slots__ = ()
    accuracy: List[float]
    top_5_accuracy: List[float]
    memory_accuracy: List[float]
    one_step_accuracy: List[float]
    lock_rate: List[float]
    kept_rate: List[float]
    attention_mass: List[float]
    margin: List[float]


class Parts(Fields):
    __slots__ = ()
    signal: Optional[float]
    mean_bias: Optional[float]
    interference: Optional[float]
    gradient_noise: Optional[float]
    output_overlap: Optional[float]
    mlp_noise: Optional[float]
    attention_leak: Optional[float]


class Noise(Fields):
    __slots__ = ()
    logits: Parts
    scores: Parts


class Parts2(Fields):
    __slots__ = ()
    signal: Optional[Interval]
    mean_bias: Optional[Interval]
    interference: Optional[Interval]
    gradient_noise: Optional[Interval]
    output_overlap: Optional[Interval]
    mlp_noise: Optional[Interval]
    attention_leak: Optional[Interval]


class NoiseIntervals(Fields):
    __slots__ = ()
    logits: Parts2
    scores: Parts2


class ByFact(Fields):
    __slots__ = ()
    accuracy: Optional[float]
    memory_accuracy: Optional[float]
    one_step_accuracy: Optional[float]


class Dominant(Fields):
    __slots__ = ()
    part: str
    term: str


class Target(Fields):
    __slots__ = ()
    quantity: str
    accuracy: float


class ByParameter(Fields):
    __slots__ = ()
    samples: Optional[int]
    dim: Optional[int]
    width: Optional[int]
    length: Optional[int]
    vocab: Optional[int]


class ByParameter2(Fields):
    __slots__ = ()
    samples: Optional[str]
    dim: Optional[str]
    width: Optional[str]
    length: Optional[str]
    vocab: Optional[str]


class LawRecord(Fields):
    __slots__ = ()
    name: str
    samples: Optional[float]
    binds: str
    formula: str
    exponents: Optional[List[float]]


class Condition(Fields):
    __slots__ = ()
    subject: str
    statement: str
    left: float
    right: float
    holds: bool
    text: str


class Silence(Fields):
    __slots__ = ()
    quantity: str
    reason: str
    text: str


class Measured(Fields):
    __slots__ = ()
    kappa: float
    xi: float
    xi_spread: float
    s2: float
    output_coherence: float
    output_spread: float


class Kind(Fields):
    __slots__ = ()
    weight: float
    own: float
    kappa: float
    s2: float
    overlaps: List[float]


class Rows(Fields):
    __slots__ = ()
    count: float
    square: float
    length_variance: float
    traces: List[float]
    along_mean: List[float]
    kernel: Measured
    kinds: List[Kind]
    shares: List[float]


class Summary(Fields):
    __slots__ = ()
    accuracy: Interval
    top_5_accuracy: Interval
    memory_accuracy: Interval
    one_step_accuracy: Interval
    lock_rate: Interval
    kept_rate: Interval
    attention_mass: Interval
    margin: Interval
    trigger_sign: int
    seconds: float


class TrajectoryPoint(Fields):
    __slots__ = ()
    step: int
    rate: float
    loss: float
    test_loss: float
    accuracy: float
    top_5_accuracy: float
    memory_accuracy: float
    one_step_accuracy: float
    lock_rate: float
    kept_rate: float
    attention_mass: float
    margin: float
    norm_m: float
    norm_w: float
    early_cosine: float
    trigger_cosine: float
    trigger_lead: float


class Observed(Fields):
    __slots__ = ()
    estimate: int
    low: Optional[int]
    high: Optional[int]
    precise: bool
    crossing: float
    crossing_low: Optional[float]
    crossing_high: Optional[float]


class NotReached(Fields):
    __slots__ = ()
    why: str
    low: int
    high: int
    best: float
    least: float
    range: List[float]
    text: str


class TrialResult(Fields):
    __slots__ = ()
    size: int
    share: float


class Axis(Fields):
    __slots__ = ()
    size: str
    scale: str
    low: int
    high: int
    count: int
    unit: int


class Cell(Fields):
    __slots__ = ()
    x: int
    y: int
    value: float
    measured: bool
    low: Optional[float]
    high: Optional[float]
    predicted: Optional[float]
    dominant: Optional[Dominant]


class Row(Fields):
    __slots__ = ()
    dim: int
    width: Optional[int]
    parameters: Optional[int]
    samples: Optional[int]
    forbids: Optional[Dominant]
    allowed: bool


class Binds(Fields):
    __slots__ = ()
    dominant: Optional[Dominant]
    condition: Optional[Condition]
    text: str


class Request(Fields):
    __slots__ = ()
    facts: int
    length: int
    accuracy: float
    dim: Optional[int]
    width: Optional[int]
    activation: Optional[str]
    embedding: str
    trigger: str
    samples: Optional[int]
    max_parameters: Optional[int]


class Vectors(Fields):
    __slots__ = ()
    mean_square_cosine: float
    effective_dimension: float
    mean_cosine: float
    norm_mean: float
    norm_cv: float
    facts: int
    facts_by_means: int
    kernel: Measured


class Geometry(Fields):
    __slots__ = ()
    mean_square_cosine: float
    effective_dimension: float
    mean_cosine: float
    norm_mean: float
    norm_cv: float


class OutputMatrix(Fields):
    __slots__ = ()
    tensor: str
    rows: int
    raw: Geometry
    centred: Geometry


class Sizes(Fields):
    __slots__ = ()
    facts: int
    length: int
    trigger: str
    samples: int
    scale: Optional[float]
    accuracy: Optional[float]
    error: Optional[float]
    error_reason: Optional[str]
    fewest_samples: Optional[int]
    fewest_samples_low: Optional[int]
    fewest_samples_high: Optional[int]
    largest_length: Optional[int]


class Bounds(Fields):
    __slots__ = ()
    coverage: float
    linear: Optional[float]
    genie: Optional[float]
    surrogate: Optional[float]
    bits: float


class Critical(Fields):
    __slots__ = ()
    estimate: Optional[float]
    low: Optional[float]
    high: Optional[float]
    bound: Optional[float]
    ratio: Optional[float]
    limit: Optional[float]


class MemorySettings(Fields):
    __slots__ = ()
    facts: int
    dim: int
    rule: str
    width: Optional[int]
    embedding: str
    embedding_file: Optional[str]
    embedding_tensor: Optional[str]
    input_digest: Optional[str]
    labels: str
    zipf: Optional[float]
    optimiser: str
    rate: Optional[float]
    steps: Optional[int]
    batch: Optional[int]
    convention: str
    accuracy: float
    top: Optional[float]
    repeats: int
    seed: int


class Estimate(Fields):
    __slots__ = ()
    estimate: int
    low: int
    high: int
    crossing: float
    crossing_low: float
    crossing_high: float
    slope: float
    spread: float


class ThresholdImprecise(Fields):
    __slots__ = ()
    estimate: int
    low: Optional[int]
    high: Optional[int]
    crossing: float
    crossing_low: Optional[float]
    crossing_high: Optional[float]
    slope: float
    spread: float


class Unreached(Fields):
    __slots__ = ()
    why: str
    low: int
    high: int
    best: float
    least: float


class Threshold(Fields):
    __slots__ = ()
    found: Estimate
    imprecise: ThresholdImprecise
    unreached: Unreached


class RunResult(Result):
    """The result of ``superpose run``."""

    __slots__ = ()
    config: Settings
    repeats: int
    interval: str
    test: str
    rows_over_trigger: Optional[float]
    accuracy: Interval
    top_5_accuracy: Interval
    memory_accuracy: Interval
    one_step_accuracy: Interval
    lock_rate: Interval
    kept_rate: Interval
    attention_mass: Interval
    margin: Interval
    by_seed: MeasuresOfArrayOfDouble
    trigger_sign: int
    trigger_signs: List[int]
    gamma: List[float]
    eta2: List[float]
    noise: Noise
    noise_intervals: Optional[NoiseIntervals]
    train_seconds: float
    data_seconds: float
    evaluate_seconds: float
    numerics: str
    version: str


class PredictResult(Result):
    """The result of ``superpose predict``."""

    __slots__ = ()
    accuracy: Optional[float]
    top_5_accuracy: Optional[float]
    memory_accuracy: Optional[float]
    one_step_accuracy: Optional[float]
    lock_rate: Optional[float]
    kept_rate: Optional[float]
    attention_mass: Optional[float]
    margin: Optional[float]
    by_fact: Optional[ByFact]
    error: Optional[float]
    error_reason: Optional[str]
    noise: Noise
    dominant: Optional[Dominant]
    target: Target
    critical: ByParameter
    critical_reason: ByParameter2
    laws: List[LawRecord]
    conditions: List[Condition]
    gaps: List[Silence]
    rows: Optional[Rows]
    config: Settings
    version: str


class TrainResult(Result):
    """The result of ``superpose train``."""

    __slots__ = ()
    config: Settings
    repeats: int
    test: str
    functions: List[str]
    rows_over_trigger: Optional[float]
    steps_taken: int
    stopped_early: bool
    outcome: Summary
    early_phase: Summary
    parameters: int
    bits_per_parameter: Optional[Interval]
    by_seed: MeasuresOfArrayOfDouble
    trajectory: List[TrajectoryPoint]
    numerics: str
    version: str


class ThresholdResult(Result):
    """The result of ``superpose threshold``."""

    __slots__ = ()
    find: str
    criterion: str
    measure: str
    accuracy: float
    criterion_text: str
    observed: Optional[Observed]
    unreached: Optional[NotReached]
    predicted: Optional[float]
    predicted_reason: Optional[str]
    ratio: Optional[float]
    half_width: float
    runs: int
    trials: List[TrialResult]
    seconds: float
    config: Settings
    numerics: str
    version: str


class PhaseResult(Result):
    """The result of ``superpose phase``."""

    __slots__ = ()
    x: Axis
    y: Axis
    measure: str
    accuracy: float
    repeats: int
    columns: List[int]
    rows: List[int]
    cells: List[Cell]
    measured: int
    boundary: List[List[List[float]]]
    predicted_boundary: List[List[List[float]]]
    runs: int
    seconds: float
    config: Settings
    numerics: str
    version: str


class PlanResult(Result):
    """The result of ``superpose plan``."""

    __slots__ = ()
    feasible: bool
    criterion: str
    target: Target
    cheapest: Optional[Row]
    keep: Optional[int]
    accuracy: Optional[float]
    top_5_accuracy: Optional[float]
    memory_accuracy: Optional[float]
    one_step_accuracy: Optional[float]
    lock_rate: Optional[float]
    kept_rate: Optional[float]
    attention_mass: Optional[float]
    margin: Optional[float]
    binds: Binds
    conditions: List[Condition]
    curve: List[Row]
    error: Optional[float]
    error_reason: Optional[str]
    checked: str
    request: Request
    version: str


class InspectResult(Result):
    """The result of ``superpose inspect``."""

    __slots__ = ()
    tensor: str
    rows: int
    dim: int
    accuracy: float
    samples_per_fact: float
    gaussian_facts: int
    raw: Vectors
    centred: Vectors
    output: Optional[OutputMatrix]
    sizes: Optional[Sizes]
    version: str


class BoundResult(Result):
    """The result of ``superpose bound``."""

    __slots__ = ()
    bounds: Bounds
    decoders: Named[Critical]
    given_embeddings: bool
    three_step: Critical
    accuracy: float
    seeds: int
    interval: str
    max_samples: float
    config: Settings
    numerics: str
    version: str


class MemoryResult(Result):
    """The result of ``superpose memory``."""

    __slots__ = ()
    accuracy: Interval
    success: Interval
    margin: Interval
    bits_per_parameter: Optional[Interval]
    steps: float
    seconds: float
    config: MemorySettings
    numerics: str
    version: str
    threshold: Threshold
    parameters_per_fact: Optional[float]
    predicted: Optional[float]
    runs: int
    half_width: float


class EstimateResult(Result):
    """The result of ``superpose estimate``."""

    __slots__ = ()
    thread_seconds: float
    memory: float
    available: float
    fits: bool
    threads: int
    config: Settings
    version: str


class SweepCell(Fields):
    """A cell of a sweep."""

    __slots__ = ()
    key: str
    status: str
    reason: Optional[str]
    vocab: int
    dim: int
    length: int
    samples: int
    width: Optional[int]
    activation: str
    output_embedding: Optional[str]
    input_digest: Optional[str]
    trigger: str
    labels: str
    zipf: Optional[float]
    noise_zipf: Optional[float]
    noise_vocab: Optional[int]
    regime: str
    early_rule: str
    rounds: int
    accumulate: int
    eta: float
    gamma: Optional[float]
    eta2: Optional[float]
    lead: float
    precision: str
    keep: Optional[int]
    test_samples: int
    seed: int
    embedding: str
    rank: Optional[int]
    clusters: Optional[int]
    spread: Optional[float]
    decay: Optional[float]
    embedding_file: Optional[str]
    embedding_tensor: Optional[str]
    steps: Optional[int]
    optimiser: Optional[str]
    rate: Optional[float]
    schedule: Optional[str]
    batch: Optional[int]
    momentum: Optional[float]
    weight_decay: Optional[float]
    gradient_clip: Optional[float]
    every: Optional[int]
    early_stopping: Optional[int]
    warm_start: Optional[int]
    heads: Optional[int]
    positions: Optional[str]
    factored: Optional[int]
    train_embeddings: Optional[int]
    train_first_layer: Optional[int]
    accuracy: Optional[float]
    accuracy_variance: Optional[float]
    accuracy_items: Optional[int]
    top_5_accuracy: Optional[float]
    top_5_accuracy_variance: Optional[float]
    top_5_accuracy_items: Optional[int]
    memory_accuracy: Optional[float]
    memory_accuracy_variance: Optional[float]
    memory_accuracy_items: Optional[int]
    one_step_accuracy: Optional[float]
    one_step_accuracy_variance: Optional[float]
    one_step_accuracy_items: Optional[int]
    lock_rate: Optional[float]
    lock_rate_variance: Optional[float]
    lock_rate_items: Optional[int]
    kept_rate: Optional[float]
    kept_rate_variance: Optional[float]
    kept_rate_items: Optional[int]
    attention_mass: Optional[float]
    attention_mass_variance: Optional[float]
    attention_mass_items: Optional[int]
    margin: Optional[float]
    margin_variance: Optional[float]
    margin_items: Optional[int]
    trigger_sign: Optional[int]
    noise: Optional[Noise]
    seconds: Optional[float]
    numerics_revision: int
    numerics: str
    version: str


class SweepResult(Result):
    """The result of ``superpose sweep``."""

    __slots__ = ()
    cells: List[SweepCell]
    done: int
    failed: int
    not_run: int
    store: Optional[str]
    seconds: float
    version: str


#: The class of each kind of result.
KINDS: Dict[str, Type[Result]] = {
    "run": RunResult,
    "predict": PredictResult,
    "train": TrainResult,
    "threshold": ThresholdResult,
    "phase": PhaseResult,
    "plan": PlanResult,
    "inspect": InspectResult,
    "bound": BoundResult,
    "memory": MemoryResult,
    "estimate": EstimateResult,
    "sweep": SweepResult,
}
