"""`reflect-gate policy init`: a folder of policies to begin with."""

from __future__ import annotations

import click

from ..report._safe import plain
from ._files import write_text
from ._options import examples, format_option
from ._output import OK
from ._summary import change, files_document, summarise

__all__ = ["init"]


@click.command
@click.argument("folder", default=".", type=click.Path(file_okay=False))
@click.option("--bundle", default="ours", show_default=True, metavar="NAME", help="The default bundle of the new policies.")
@format_option("text", "json")
@examples(
    "reflect-gate policy init",
    "reflect-gate policy init policies --bundle team",
)
def init(folder: str, bundle: str, format_: str) -> int:
    """Make a folder of policies to begin with.

    FOLDER gets a policies file, the shipped rules with their cases and lexicons, and the schemas for editors. The default bundle
    extends the shipped one and changes nothing of it yet; `policy new` adds to it. A file that is there already is never
    overwritten.
    """
    from pathlib import Path

    from ..policy.beginning import beginning

    texts = beginning(Path(folder), bundle)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    place = Path(folder) / "policies.yaml"
    document = {"policies": str(place), "bundle": bundle, "files": len(texts)}
    changes = [{**change(path, None, text), "diff": ""} for path, text in texts.items()]
    summarise(
        format_,
        f"{len(texts)} files written; bundle {bundle} of {plain(str(place))} decides as the shipped one until you change it",
        document,
        files_document("init", changes, len(texts), bundle=bundle),
    )
    return OK
