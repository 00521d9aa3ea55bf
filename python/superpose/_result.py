"""Results of calls: fields by name, the text of the command line, HTML in a notebook, data frames, figures, files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from typing import TYPE_CHECKING, Any, Dict, Generic, Iterator, KeysView, List, Optional, Tuple, Type, TypeVar

import numpy

from . import _engine, _plots, _tables
from ._given import Path, path, text_of


class Fields:
    """Values by name: ``fields.mean`` or ``fields["mean"]``. Nested ones are fields, too. ``dict(fields)``, ``len``, ``in`` and
    ``**fields`` work as for a dictionary.

    >>> import superpose
    >>> accuracy = superpose.Config(vocab=64, dim=64, samples=4096).run().accuracy
    >>> list(accuracy), len(accuracy), accuracy.mean == accuracy["mean"], accuracy.get("median", "none")
    (['mean', 'low', 'high'], 3, True, 'none')
    """

    # No values() and items(), hence no Mapping: a measure has a field of the name items.
    __slots__ = ("_values",)

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    # Type checkers know the fields by superpose.results.
    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name == "_values":
                raise AttributeError(name)
            try:
                return _wrapped(self._values[name])
            except KeyError:
                raise AttributeError(f"no field {name}: there are {', '.join(self._values)}") from None

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"field {name!r}: must be one of {', '.join(self._values)}; tables are in to_rows()")
        if name not in self._values:
            raise KeyError(f"no field {name}: there are {', '.join(self._values)}")
        return _wrapped(self._values[name])

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or ``default`` where there is none of this ``name``."""
        return self[name] if name in self._values else default

    def keys(self) -> KeysView[str]:
        """Names of the fields."""
        return self._values.keys()

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and _untimed(self._values) == _untimed(other._values)

    def __repr__(self) -> str:
        return f"({', '.join(f'{name}={_wrapped(value)!r}' for name, value in self._values.items())})"

    def __reduce__(self) -> Any:
        return Fields, (self._values,)

    def to_dict(self) -> Dict[str, Any]:
        """Plain dictionaries and lists, named as in ``--json``."""
        plain: Dict[str, Any] = json.loads(json.dumps(self._values))
        return plain

    def _repr_html_(self) -> str:
        return f"<table>{_tables.sheet(self._values)}</table>"


#: The type of values.
T = TypeVar("T")


class Named(Fields, Generic[T]):
    """Values of one type by names that a caller may choose. Only type checkers know this class: at run time they are :class:`Fields`."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> T: ...

        def __getitem__(self, name: str) -> T: ...


class Result(Fields):
    """The record of a call, with the names of ``--json`` on the command line. ``print`` shows the text of the command line, a notebook a
    table, and ``repr`` one line. Two results are equal if all fields except times are equal.

    >>> import superpose
    >>> config = superpose.Config(vocab=64, dim=64, samples=4096)
    >>> result = config.run()
    >>> result.lock_rate.mean > 0.99
    True
    >>> result.to_dict()["config"]["vocab"]
    64
    >>> superpose.Config(**result.config).run() == result
    True
    >>> result
    <superpose run: Recall of V = 64 facts from sequences of L = 16 tokens; accuracy 0.6797 [0.6652, 0.6938]>
    """

    __slots__ = ("_record", "_text", "_html", "_figure", "_kind")

    _text: str
    _html: str
    _figure: Optional[Tuple[str, str]]

    def __init__(self, record: _engine.Record, kind: str) -> None:
        self._record = record
        self._kind = kind

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            # Made from the engine's record at first use.
            if name == "_values":
                self._values = json.loads(self._record.json())
                return self._values
            if name == "_text":
                self._text = self._record.text()
                return self._text
            if name == "_html":
                self._html = self._record.html()
                return self._html
            if name == "_figure":
                self._figure = self._record.figure() if hasattr(self._record, "figure") else None
                return self._figure
            if name.startswith("__") or name in ("_record", "_kind"):
                raise AttributeError(name)
            return super().__getattr__(name)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        accuracy = self._values.get("accuracy")
        interval = ""
        if isinstance(accuracy, dict) and "mean" in accuracy:
            mean, low, high = (_engine.share(accuracy[name]) for name in ("mean", "low", "high"))
            interval = f"; accuracy {mean} [{low}, {high}]"
        return f"<superpose {self._kind}: {str(self).strip().splitlines()[0]}{interval}>"

    def __reduce__(self) -> Any:
        return _restored, (type(self), *self._parts())

    def _parts(self) -> Tuple[Any, ...]:
        """Everything that the result shows, without the engine's record."""
        return self._values, self._text, self._html, self._figure, self._kind

    def to_json(self) -> str:
        """The JSON object that ``--json`` prints."""
        return json.dumps(self._values)

    def save(self, file: Path) -> None:
        """Writes the result to a file, from which :func:`superpose.load` reads it.

        Args:
            file: the file, by convention with the extension ``.json``.
        """
        values, text, html, figure, kind = self._parts()
        saved = {"superpose": _engine.version, "kind": kind, "record": values, "text": text, "html": html, "figure": figure}
        saved["checksum"] = _checksum(saved)
        with open(path("file", file), "w", encoding="utf-8") as opened:
            json.dump(saved, opened)

    def plot(self) -> Any:
        """A figure of the result: a matplotlib figure if matplotlib is installed, otherwise the SVG of the command line, with ``save``.
        Results of ``run``, ``train``, ``threshold``, ``phase``, ``plan`` and ``sweep`` have one."""
        if self._figure is None:
            raise ValueError(f"a result of {self._kind} has no figure; those of run, train, threshold, phase, plan and sweep have one")
        description, svg = self._figure
        return _plots.drawn(json.loads(description), svg)

    def to_rows(self) -> List[Dict[str, Any]]:
        """The table behind the data frames, a dictionary per row. ``phase`` and ``sweep`` have a row per cell, ``plan`` one per dimension,
        ``bound`` one per lower bound and one per decoder, ``train`` one per record of the trajectory. Columns of a sweep that are empty in
        all rows are left out. Everything else is one row with all fields, nested names joined by underscores; what is
        told repeat by repeat is a list."""
        return _tables.rows(self._kind, self._values)

    def to_pandas(self) -> Any:
        """A pandas data frame of :meth:`to_rows`."""
        return _module("pandas").DataFrame(self.to_rows())

    def to_polars(self) -> Any:
        """A polars data frame of :meth:`to_rows`."""
        return _module("polars").DataFrame(self.to_rows(), infer_schema_length=None)

    def to_xarray(self) -> Any:
        """An xarray data set of a sweep: a dimension for every setting that varies, the measures as variables; cells that are not in the
        sweep are NaN."""
        if self._kind != "sweep":
            raise ValueError(f"a result of {self._kind} is no sweep: to_rows(), to_pandas() and to_polars() have its table")
        xarray, (names, measures, rows) = _module("xarray"), _tables.grid(self._values)
        values = [sorted({row[name] for row in rows}) for name in names]
        arrays = {measure: numpy.full([len(axis) for axis in values], numpy.nan) for measure in measures}
        for row in rows:
            place = tuple(axis.index(row[name]) for axis, name in zip(values, names))
            for measure, array in arrays.items():
                array[place] = numpy.nan if row.get(measure) is None else row[measure]
        return xarray.Dataset({name: (names, array) for name, array in arrays.items()}, coords=dict(zip(names, values)))

    def _repr_html_(self) -> str:
        return self._html + _tables.cells(self._kind, self._values)


def _restored(kind: Type[Result], values: Dict[str, Any], text: str, html: str, figure: Any, command: str) -> Result:
    result = kind.__new__(kind)
    result._values, result._text, result._html, result._figure, result._kind = values, text, html, figure, command
    return result


def load(file: Path) -> Result:
    """Reads a result that :meth:`Result.save` wrote, of the class in ``superpose.results`` for its kind. The trained network of a training run is not in it; a
    checkpoint or a pickle has it. A file that was changed or damaged is refused with a ``ValueError``.

    Args:
        file: the file.

    >>> import pathlib, superpose, tempfile
    >>> result = superpose.Config(vocab=64, dim=64, samples=4096).run()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(pathlib.Path(folder) / "run.json")
    ...     superpose.load(pathlib.Path(folder) / "run.json") == result
    True
    """
    name = path("file", file)
    from .results import KINDS

    try:
        saved = json.loads(text_of(name))
        values, text, html, figure, kind = (saved[part] for part in ("record", "text", "html", "figure", "kind"))
        drawn = figure is None or (len(figure) == 2 and all(isinstance(part, str) for part in figure))
        valid = isinstance(values, dict) and values and isinstance(text, str) and text.strip() and isinstance(html, str) and drawn
        found = KINDS[kind] if valid else None
    except (KeyError, TypeError, ValueError, RecursionError):
        found = None
    if found is None:
        raise ValueError(f"{name}: not a result that save wrote")
    # Files of earlier versions have no checksum.
    if saved.pop("checksum", _checksum(saved)) != _checksum(saved):
        raise ValueError(f"{name}: its content was changed after it was saved")
    return _restored(found, values, text, html, figure, kind)


def _checksum(saved: Dict[str, Any]) -> str:
    """The SHA-256 of what a file contains, whatever its layout."""
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()


def _module(name: str) -> Any:
    """An optional module, or an error that says how to install it."""
    if importlib.util.find_spec(name) is None:
        raise ImportError(f"{name} is not installed: pip install superpose[tables]")
    return importlib.import_module(name)


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Fields(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _untimed(value: Any) -> Any:
    """The value without the times that calls took, which differ from call to call."""
    if isinstance(value, dict):
        return {name: _untimed(inner) for name, inner in value.items() if not name.endswith("seconds")}
    if isinstance(value, list):
        return [_untimed(item) for item in value]
    return value
