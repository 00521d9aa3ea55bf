"""The engine's definitions of settings, and what they say about given keys."""

from __future__ import annotations

from typing import Any, Dict

from . import _engine
from ._given import tensor_file

#: Settings by name: default, allowed values and meaning.
DEFINITIONS: Dict[str, Dict[str, Any]] = _engine._definitions()

#: Settings whose values are files.
FILES = ("embedding_file", "import")


def with_files(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys with the names of files as strings."""
    return {name: tensor_file(name, value) if name in FILES and value is not None else value for name, value in keys.items()}


def chosen(keys: Dict[str, Any]) -> Dict[str, Any]:
    """Keys without those that are ``None``, which means the default. An unknown one stays with another value, so that the engine refuses it."""
    return {name: 0 if value is None else value for name, value in keys.items() if value is not None or name not in DEFINITIONS}
