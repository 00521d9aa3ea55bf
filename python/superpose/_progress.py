"""Progress of long calls: a tqdm bar or a line of text in a terminal or notebook, or the caller's function."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import time
from typing import Any, Callable, Dict, Iterator, Optional, Union

from ._given import wrong

#: Seconds before a bar is shown.
DELAY = 1.0

Listener = Callable[[int, int, str], Any]
Progress = Union[None, bool, Listener]


@contextlib.contextmanager
def listener(progress: Progress) -> Iterator[Optional[Listener]]:
    """Yields the function that the engine calls with its progress: none, the caller's, or that of a bar which closes with the call."""
    if callable(progress):
        yield progress
    elif progress is not None and progress is not True and progress is not False:
        raise wrong("progress", progress, "None, True, False or a function of (done, total, note)")
    elif progress is False or (progress is None and not _is_interactive()):
        yield None
    else:
        bar = _Bar() if _has("tqdm") else _Line()
        try:
            yield bar.tell
        finally:
            bar.close()


class _Bar:
    """A bar that appears when the engine first reports progress, which short calls never do. If drawing fails, the work continues
    without a bar."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._broken = False

    def tell(self, done: int, total: int, note: str) -> None:
        if not self._broken:
            try:
                self._draw(done, total, note)
            except Exception:
                self._broken = True

    def _draw(self, done: int, total: int, note: str) -> None:
        if self._bar is None:
            kind = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left" if total else "{desc} {elapsed}"
            drawing = importlib.import_module("tqdm.notebook" if _in_notebook() and _has("ipywidgets") else "tqdm")
            self._bar = drawing.tqdm(total=total or None, bar_format=kind, delay=DELAY, leave=False)
        if total:
            self._bar.total = total
            done = min(done, total)
        self._bar.set_description_str(note, refresh=False)
        self._bar.update(done - self._bar.n)
        if not total:
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(Exception):
                self._bar.close()


class _Line(_Bar):
    """A line of text that is rewritten, at most twice a second."""

    def __init__(self) -> None:
        super().__init__()
        self._started = self._shown = time.monotonic()

    def _draw(self, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        if now - self._started > DELAY and now - self._shown > 0.5:
            self._shown = now
            share = f"{done} of {total}" if total else ""
            sys.stderr.write(f"\r{note} {share}, {now - self._started:.0f} s".ljust(78)[:78])
            sys.stderr.flush()

    def close(self) -> None:
        if self._shown != self._started and not self._broken:
            with contextlib.suppress(Exception):
                sys.stderr.write("\r".ljust(79) + "\r")
                sys.stderr.flush()


#: Cache of :func:`_has`.
_FOUND: Dict[str, bool] = {}


def _has(module: str) -> bool:
    if module not in _FOUND:
        _FOUND[module] = importlib.util.find_spec(module) is not None
    return _FOUND[module]


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return callable(shell) and getattr(shell(), "kernel", None) is not None


def _is_interactive() -> bool:
    try:
        return _in_notebook() or sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):
        # There is no stream, it is closed, or it is an object that only has ``write``.
        return False
