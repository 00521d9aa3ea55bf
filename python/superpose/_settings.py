"""Settings as keywords and attributes, made from the engine's definitions. The stub beside this file is written by
``cargo xtask reference``."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Dict, Type

from . import _engine
from ._definitions import DEFINITIONS, FILES, chosen, with_files
from ._given import refuse_functions

#: Arrays that a call takes.
_TENSORS = frozenset(("z_in", "z_out", "z_trig", "z_eos", "w_in", "tokens", "position", "labels"))


def _keywords_only(new: Any) -> Any:
    """Refuses values without a name by a message that shows how settings are given."""

    @functools.wraps(new)
    def call(cls: Any, *values: Any, **keys: Any) -> Any:
        if values:
            raise TypeError(f"{cls.__name__}({values[0]!r:.60}): settings are keywords, such as {cls.__name__}(vocab=64)")
        return new(cls, **keys)

    return call


class Settings(_engine.Config):
    __slots__ = ()

    @_keywords_only
    def __new__(cls, **keys: Any) -> "Settings":
        keys = named(keys)
        if _ALWAYS_RECORDED <= keys.keys():
            # A whole configuration, as a record has it: settings at their defaults were not chosen.
            keys = {name: value for name, value in keys.items() if value != _default(name)}
        keys = with_files(keys)
        _refuse_arrays(keys.get("import"))
        return super().__new__(cls, **chosen(keys))

    def to_dict(self) -> Dict[str, Any]:
        """All settings by name, defaults included."""
        return self._settings()

    def replace(self, **keys: Any) -> Any:
        """The same configuration with some settings changed; ``None`` resets one to its default.

        Args:
            keys: those of :class:`Config`.
        """
        return type(self)(**{**self._given(), **named(keys)})

    def _given(self) -> Dict[str, Any]:
        settings = self.to_dict()
        return {name: settings[name] for name in self._names()}

    def __getattr__(self, name: str) -> Any:
        # Only names without a property arrive here.
        raise AttributeError(name if name.startswith("_") else f"no setting {name}: there are {', '.join(written(DEFINITIONS))}")

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self._given())


def _rebuilt(kind: Type[Settings], keys: Dict[str, Any]) -> Settings:
    return kind(**keys)


def _default(name: str) -> Any:
    return DEFINITIONS[name]["default"] if name in DEFINITIONS else None


def named(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys as the engine has them. ``import`` is a keyword of Python, so it is written with a trailing underscore."""
    refuse_functions(keys)
    if "import_" not in keys:
        return keys
    if "import" in keys:
        raise ValueError("import and import_ are both given: they are the same key; give one of them")
    return {"import" if name == "import_" else name: value for name, value in keys.items()}


def written(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys as one writes them in Python."""
    return {"import_" if name == "import" else name: value for name, value in keys.items()}


def described() -> str:
    """The settings and their meanings, as the ``Args`` of a docstring."""
    return "".join(f"        {name}: {definition['meaning']}.\n" for name, definition in written(DEFINITIONS).items())


def _refuse_arrays(source: Any) -> None:
    """Refuses the note that a record makes of arrays: no file has them."""
    if isinstance(source, str) and source.startswith("arrays "):
        names = source[len("arrays ") :].split(", ")
        if set(names) <= _TENSORS:
            again = ", ".join(f"{name}=..." for name in names)
            raise ValueError(f"import = {source}: arrays are not part of a configuration; leave import out and give them to the call: run({again})")


#: Settings that every record writes down, at their default or not. A copy of a record may leave out the names of files.
_ALWAYS_RECORDED = frozenset(name for name, setting in DEFINITIONS.items() if setting["always"]) - {*FILES, "output_embedding", "input_digest"}


def _setting(name: str, meaning: str) -> property:
    return property(lambda config: config.to_dict()[name], doc=meaning)


for _name, _definition in DEFINITIONS.items():
    setattr(Settings, *written({_name: _setting(_name, _definition["meaning"])}).popitem())

_keyword = inspect.Parameter.KEYWORD_ONLY
Settings.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter(name, _keyword, default=definition["default"]) for name, definition in written(DEFINITIONS).items()]
)
