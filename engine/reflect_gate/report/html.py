"""A page of Markdown as generated here (headings, paragraphs, tables, code spans, links) as one HTML file without scripts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["html_page"]

_HEADING: Final = re.compile(r"(?P<level>#{1,4}) (?P<text>.+)")
_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([\w./#-]+)\)")
_BAR: Final = re.compile(r"(?<!\\)\|")
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{border:1px solid #bbb;padding:.35rem .6rem;text-align:left;"
    "vertical-align:top}th{background:#f0f0f0}code{background:#f0f0f0;padding:.1rem .25rem;overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}th,code{background:#2a2a2a}th,td{border-color:#555}}"
)


def html_page(markdown: str) -> str:
    """Return the page; whatever its texts hold is shown and never read as HTML."""
    title = next((line[2:] for line in markdown.split("\n") if line.startswith("# ")), "")
    body = "\n".join(_blocks(markdown))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _blocks(markdown: str) -> Iterator[str]:
    for block in re.split(r"\n{2,}", markdown.strip()):
        heading = _HEADING.fullmatch(block)
        if block.startswith("<!--"):
            continue
        if heading:
            level, text = len(heading["level"]), heading["text"]
            yield f'<h{level} id="{_anchor(text)}">{_inline(text)}</h{level}>'
        elif block.startswith("|"):
            yield _table(block.split("\n"))
        else:
            yield f"<p>{_inline(block)}</p>"


def _anchor(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9_]+", text.lower()))


def _table(lines: list[str]) -> str:
    rows = [[cell.strip().replace("\\|", "|") for cell in _BAR.split(line)[1:-1]] for line in lines]
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in rows[0])
    body = "\n".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in rows[2:])
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _inline(text: str) -> str:
    """Return text with its code spans and links; the parts between them are escaped."""
    parts = _CODE.split(text)
    return "".join(
        f"<code>{html.escape(part)}</code>" if place % 2 else _LINK.sub(r'<a href="\2">\1</a>', html.escape(part))
        for place, part in enumerate(parts)
    )
