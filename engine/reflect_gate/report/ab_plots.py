"""Plots of a comparison as SVG, drawn by matplotlib: the same document gives the same bytes, text stays text.

The only module that imports matplotlib (extra `report`), and only when it draws. Colours are placeholders that become the page's
own variables, so that a plot is legible in the dark and in print. Whatever is told by colour is told by a shape as well.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError

__all__ = ["Bar", "Change", "Mark", "bars", "changes", "curve", "forest"]

Document = Mapping[str, Any]

INK, MUTED, A, B, GOOD, BAD = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES: Final = {INK: "ink", MUTED: "muted", A: "a", B: "b", GOOD: "good", BAD: "bad"}
_WIDTH: Final = 6.2
_LABEL: Final = 56
_NAMED: Final = re.compile(r'(\bid="|url\(#|href="#)')
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


class Mark(NamedTuple):
    """A line of a forest plot: a value with its interval, either of them unknown; `strong` for what the plot is about."""

    label: str
    value: float | None
    ends: Sequence[float] | None
    strong: bool = False


class Bar(NamedTuple):
    """A group of two bars: counts of the first bundle and of the second."""

    label: str
    a: int
    b: int


class Change(NamedTuple):
    """What leaving something out changes: precision and recall, each with its interval, in shares; and the verdict."""

    label: str
    verdict: str
    precision: Mark
    recall: Mark


def forest(marks: Sequence[Mark], axis: str, salt: str, *, reference: float | None = None, shares: bool = True) -> str:
    """Return values with their 95 % intervals, one below the other; `shares` are shown in per cent."""
    scale = 100 if shares else 1
    with _drawn(salt, 0.32 * len(marks) + 0.75) as (figure, done):
        axes = figure.add_subplot()
        if reference is not None:
            axes.axvline(reference * scale, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        for place, mark in enumerate(marks):
            _interval(axes, place, mark, scale)
        _rows(axes, [mark.label for mark in marks])
        if shares and reference is None:
            axes.set_xlim(0, 100)
        axes.set_xlabel(axis)
    return done()


def bars(rows: Sequence[Bar], names: tuple[str, str], axis: str, salt: str) -> str:
    """Return two bars a row, one for each bundle."""
    with _drawn(salt, 0.46 * len(rows) + 1.0) as (figure, done):
        axes = figure.add_subplot()
        places = range(len(rows))
        for shift, key, colour, hatch, name in ((-0.19, "a", A, "", names[0]), (0.19, "b", B, "////", names[1])):
            counts = [getattr(row, key) for row in rows]
            drawn = axes.barh(
                [place + shift for place in places],
                counts,
                height=0.36,
                color=colour if not hatch else "none",
                edgecolor=colour,
                hatch=hatch,
                label=f"{key}  {_short(name)}",
            )
            axes.bar_label(drawn, labels=[str(count) for count in counts], padding=3, fontsize=8, color=INK)
        _rows(axes, [row.label for row in rows])
        axes.set_xlabel(axis)
        axes.margins(x=0.1)
        axes.legend(loc="lower right")
    return done()


def changes(rows: Sequence[Change], salt: str) -> str:
    """Return what leaving each thing out changes of precision and of recall, in points of a per cent."""
    with _drawn(salt, 0.3 * len(rows) + 0.9, width=8.4) as (figure, done):
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, of, axis in (
            (left, "precision", "precision, percentage points"),
            (right, "recall", "recall, percentage points"),
        ):
            axes.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
            for place, row in enumerate(rows):
                _interval(axes, place, getattr(row, of), 100, _VERDICTS.get(row.verdict, (MUTED, "o")))
            axes.set_xlabel(axis)
        _rows(left, [f"{_short(row.label, 40)} · {row.verdict}" for row in rows])
        right.tick_params(axis="y", length=0)
        right.spines["left"].set_visible(False)
    return done()


def curve(told: Document, salt: str) -> str:
    """Return precision with its band, harm and recall over the values of one setting; a line where it stands now."""
    points = told["points"]
    values = [point["value"] for point in points]
    with _drawn(salt, 2.3, width=4.2) as (figure, done):
        axes = figure.add_subplot()
        axes.axvline(told["value"], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(
            "now", (told["value"], 1), xycoords=("data", "axes fraction"), xytext=(2, -8), textcoords="offset points", fontsize=7
        )
        _band(axes, points)
        for name, colour, style in (("precision", A, "o-"), ("recall", B, "s--"), ("harm", BAD, "x:")):
            shares = [_nan(point[name]["share"]) for point in points]
            axes.plot(values, shares, style, color=colour, markersize=3.5, linewidth=1.3, label=name)
        axes.set_ylim(-2, 102)
        axes.set_ylabel("per cent")
        axes.set_xlabel(_short(told["setting"], 48))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=3, fontsize=8, handlelength=2.4)
    return done()


_VERDICTS: Final = {"KEEP": (GOOD, "o"), "HARM": (BAD, "X"), "DELETE": (B, "s"), "unexercised": (MUTED, "D")}


@contextmanager
def _drawn(salt: str, height: float, width: float = _WIDTH) -> Iterator[tuple[Any, Callable[[], str]]]:
    """Yield a figure and what gives its SVG once it is drawn; `salt` names it among those of one page."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise ReflectGateError("plots-missing", "plots need the extra `report`: install `reflect-gate[report]`") from None
    found: list[str] = []
    with mpl.rc_context(_SETTINGS | {"svg.hashsalt": salt}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, lambda: found[0]
        stream = io.StringIO()
        # Dates and versions would make other bytes of the same figures.
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        found.append(_inline(stream.getvalue(), salt))


def _inline(svg: str, salt: str) -> str:
    """Return the element alone, with ids of its own and the page's colours."""
    element = svg[svg.index("<svg") :].strip()
    for colour, name in _VARIABLES.items():
        element = element.replace(colour, f"var(--{name})")
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, flags=re.DOTALL)
    return _NAMED.sub(rf"\g<1>{salt}-", element)


def _interval(axes: Any, place: int, mark: Mark, scale: float, look: tuple[str, str] = (INK, "o")) -> None:
    colour, shape = (A, "D") if mark.strong else look
    if mark.ends is not None:
        axes.plot([end * scale for end in mark.ends], [place, place], "-", color=colour, linewidth=2.2 if mark.strong else 1.3)
    if mark.value is not None:
        axes.plot([mark.value * scale], [place], shape, color=colour, markersize=6 if mark.strong else 5)


def _rows(axes: Any, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [_short(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _band(axes: Any, points: Sequence[Document]) -> None:
    held = [(point["value"], point["precision"]["cluster"]) for point in points if point["precision"]["cluster"]]
    if held:
        low, high = [ends[0] * 100 for _, ends in held], [ends[1] * 100 for _, ends in held]
        axes.fill_between([value for value, _ in held], low, high, color=A, alpha=0.15, linewidth=0)


def _nan(share: float | None) -> float:
    return float("nan") if share is None else share * 100


def _short(text: str, most: int = _LABEL) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
