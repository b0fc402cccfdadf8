"""`reflect-gate doctor`: what of this installation works, what does not, and what to do about it."""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from .. import __version__
from ..config import cache_dir, choose_policies, home_dir
from ..errors import ReflectGateError
from ..report._safe import one_line
from ..resources import data_root
from ._options import examples
from ._output import COULD_NOT_RUN, OK, open_output

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["Check", "checks", "doctor"]

Status = Literal["ok", "warn", "fail"]
_BUILDABLE = sys.version_info < (3, 13)
_COMPILERS = ("cc", "gcc", "clang", "cl")


class Check(NamedTuple):
    """One thing looked at; `fix` says what to do and is empty where nothing is to be done."""

    name: str
    status: Status
    detail: str
    fix: str = ""


@click.command()
@click.option("--policies", metavar="FILE", help="Check these policies instead of the ones in force.")
@click.option("--model", is_flag=True, help="Ask the configured model once, which may cost a fraction of a cent.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
@examples("reflect-gate doctor", "reflect-gate doctor --model", "reflect-gate doctor --format json")
def doctor(policies: str | None, model: bool, style: str) -> int:
    """Check this installation.

    Looks at the interpreter, both rule engines, the policies in force, the folders, the libraries that must agree, the queue and
    the store. Of each harness that has our hooks it runs one on a made-up event, in a temporary home, and reads what came back.
    With --model, also asks the model that reflects: one small call, never made otherwise.
    Exit code 1 when something that every evaluation needs is broken, a hook, or the model that was asked; a warning alone is 0.
    """
    found = list(checks(policies, model=model))
    broken = any(check.status == "fail" for check in found)
    with open_output(None) as sink:
        if style == "json":
            sink.json(json.dumps(_document(found)).encode() + b"\n")
        else:
            sink.text(_text(found))
    return COULD_NOT_RUN if broken else OK


def checks(policies: str | None = None, *, model: bool = False) -> Iterator[Check]:
    """Yield every check; one that raises is a failure of its own and never hides the ones after it."""
    yield Check("python", "ok", f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}")
    yield Check("platform", "ok", platform.platform())
    for name, look in (("package", _package), ("validators", _validators), ("re2", _re2)):
        yield _guarded(name, look)
    yield _guarded("durable engine", _durable)
    bundles: list[Bundle] = []
    yield _guarded("policies", lambda: _policies(policies, bundles))
    if bundles:
        yield _guarded("inference", lambda: _inference(bundles[0]))
    yield _guarded("home", lambda: _folder("home", home_dir(), "REFLECT_GATE_HOME"))
    yield _guarded("cache", lambda: _folder("cache", cache_dir(), "REFLECT_GATE_CACHE"))
    yield from _memory(policies, model=model)
    yield from _hooks()


def _memory(policies: str | None, *, model: bool) -> Iterator[Check]:
    from ._doctor_memory import configured_model, queue_check, store_check

    yield _guarded("queue", lambda: Check("queue", *queue_check()))
    yield _guarded("store", lambda: Check("store", *store_check()))
    if model:
        from ._doctor_model import model_check

        yield _guarded("model", lambda: Check("model", *model_check(policies)))
    else:
        yield _guarded("model", lambda: Check("model", *configured_model(policies)))


def _hooks() -> Iterator[Check]:
    from ._doctor_hooks import hook_checks

    looks = hook_checks()
    while True:
        # One harness whose check fails unforeseen does not hide those after it, as far as there are any.
        found = _guarded("hooks", lambda: Check(*next(looks, ("", "ok", "", ""))))
        if not found.name:
            return
        yield found
        if found.status == "fail" and found.name == "hooks":
            return


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except ReflectGateError as error:
        return Check(name, "fail", "; ".join(str(leaf) for leaf in error.errors))
    except Exception as error:  # noqa: BLE001 - a doctor reports whatever is wrong, also what nobody foresaw
        return Check(name, "fail", f"{type(error).__name__}: {error}", "reinstall: pip install --force-reinstall reflect-gate")


def _package() -> Check:
    return Check("package", "ok", f"reflect-gate {__version__}, data in {data_root()}")


def _validators() -> Check:
    """Both JSON Schema validators are there and agree on documents that a careless one judges wrong."""
    import jsonschema
    import jsonschema_rs

    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 0}},
        "required": ["n"],
        "additionalProperties": False,
    }
    authority, fast = jsonschema.Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(schema)
    for document in ({"n": 1}, {"n": 1.0}, {"n": True}, {"n": -1}, {}, {"n": 1, "m": 2}):
        if authority.is_valid(document) != fast.is_valid(document):
            return Check(
                "validators",
                "fail",
                f"jsonschema and jsonschema-rs disagree on {document}",
                "pip install -U jsonschema jsonschema-rs",
            )
    return Check("validators", "ok", "jsonschema and jsonschema-rs agree")


def _re2() -> Check:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    patterns = re2.Set.SearchSet(options)
    patterns.Add(r"\b(?:naïve|(?:a+)+b)\b")
    patterns.Compile()
    if patterns.Match("a Naïve reading") != [0] or patterns.Match("a" * 5_000):
        return Check("re2", "fail", "google-re2 does not match as documented", "pip install -U google-re2")
    return Check("re2", "ok", "pattern sets work, in linear time")


def _durable() -> Check:
    """The C module; without it the compiled engine judges alone, which is sound but not cross-checked."""
    name, alone = "durable engine", "the compiled engine judges alone, without cross-check"
    try:
        importlib.import_module("durable_rules_engine")
    except ImportError as error:
        fix = _durable_fix()
        reason = "not installed" if isinstance(error, ModuleNotFoundError) else one_line(str(error))
        return Check(name, "warn", f"{reason}: {alone}", fix)
    return Check(name, "ok", "durable_rules_engine imports")


def _durable_fix() -> str:
    if not any(shutil.which(compiler) for compiler in _COMPILERS):
        return "there is no C compiler: install gcc or clang with the headers of Python, then pip install durable-rules"
    if not _BUILDABLE:
        return (
            "its release does not import on Python 3.13 or later; use 3.12 or earlier, or build it with"
            " CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject pip install durable-rules"
        )
    return "pip install durable-rules"


def _policies(explicit: str | None, loaded: list[Bundle]) -> Check:
    from ..policy import load_bundle

    path, chosen_by = choose_policies(explicit)
    # By what was named, since what an archive was unpacked to bears no signature.
    bundle = load_bundle(policies=explicit, cache=False)
    loaded.append(bundle)
    on, expired = sum(ruleset.on for ruleset in bundle.rulesets), sum(not change.applied for change in bundle.changes)
    detail = (
        f"{path} ({chosen_by}): bundle `{bundle.name}`, {on} of {len(bundle.rulesets)} rule sets on,"
        f" {len(bundle.program.rules)} rules, digest {bundle.digest}"
    )
    if _others_may_write(path):
        return Check("policies", "warn", f"{detail}; others may write the file", f"chmod go-w {path}")
    if expired:
        return Check("policies", "warn", f"{detail}; {expired} overrides have expired", "reflect-gate policy check")
    return Check("policies", "ok", detail)


def _inference(bundle: Bundle) -> Check:
    """Run every stage of the loaded bundle over no facts: both engines compile, run and free a session."""
    from ..infer import make_engine

    engine = make_engine(bundle.program, bundle.engine, bundle.cross_check, bundle.generated)
    stages = list(dict.fromkeys(stratum.stage for stratum in bundle.program.strata))
    with engine.session(bundle.limits) as session:
        for stage in stages:
            session.advance(stage, [])
    checked = "cross-checked" if bundle.cross_check else "not cross-checked"
    return Check("inference", "ok", f"engine `{bundle.engine}`, {checked}: {len(stages)} stages ran")


def _others_may_write(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _folder(name: str, path: Path, variable: str) -> Check:
    """Folders are made when first needed, so a missing one is fine where it could be made."""
    if not path.exists():
        parent = next(above for above in path.parents if above.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return Check(name, "ok", f"{path} does not exist yet and is made when it is needed")
        return Check(name, "warn", f"{path} cannot be made: {parent} is not writable", f"set {variable} to a folder of yours")
    if not path.is_dir():
        return Check(name, "fail", f"{path} is not a folder", f"move it away, or set {variable}")
    if not os.access(path, os.W_OK | os.X_OK):
        return Check(name, "warn", f"{path} is not writable", f"set {variable} to a folder of yours")
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return Check(name, "warn", f"{path} has mode {mode:04o}: others can look in", f"chmod 700 {path}")
    return Check(name, "ok", f"{path} is writable" + (f", mode {mode:04o}" if os.name == "posix" else ""))


def _document(found: list[Check]) -> dict[str, object]:
    return {
        "doctor": 1,
        "ok": all(check.status != "fail" for check in found),
        "version": __version__,
        "checks": [check._asdict() for check in found],
    }


def _text(found: list[Check]) -> str:
    width = max(len(check.name) for check in found)
    lines = []
    for check in found:
        lines.append(f"{check.status:<4}  {check.name:<{width}}  {one_line(check.detail, 400)}")
        if check.fix:
            lines.append(f"{'':<4}  {'':<{width}}  → {one_line(check.fix, 400)}")
    return "\n".join(lines) + "\n"
