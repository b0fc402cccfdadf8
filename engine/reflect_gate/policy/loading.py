"""The way from a policies file to a bundle: what was compiled before, or everything anew."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from ..config import choose_policies
from .bundle import Bundle, LoadRequest
from .cache import fetch, keep

__all__ = ["load_bundle"]


def load_bundle(  # noqa: PLR0913 - one argument a way to choose what decides
    name: str | None = None,
    *,
    policies: str | Path | None = None,
    set_: Sequence[str] = (),
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    experimental: Sequence[str] = (),
    as_of: str | None = None,
    cache: bool = True,
    rules: str | Path | None = None,
    require_signature: str | Path | None = None,
) -> Bundle:
    """Return the resolved, compiled bundle called `name`, or the default one of the policies file.

    Args:
        name: a bundle of the policies file.
        policies: the policies file, its folder, an archive or a git ref; by default what `config.choose_policies` chooses.
        set_: texts `ruleset.setting=value`, applied last.
        enable: rule sets to switch on, `name` or `name@version`; or single rules, `ruleset/rule`.
        disable: rule sets or single rules to switch off.
        experimental: experimental rules that are to decide: `ruleset/rule`, a rule set, or `all`.
        as_of: the date `YYYY-MM-DD` that decides what has expired; today (UTC) by default.
        cache: use the compiled bundle of an earlier load while nothing that it was built from has changed.
        rules: a rule-set file that is on, and stands in for the rule set of its name; nothing is kept then.
        require_signature: a file of public keys; only an archive that one of them signed is then loaded.

    Raises:
        ReflectGateError: with every fault of every file; a broken policy gives no bundle.
    """
    today = as_of or dt.datetime.now(dt.UTC).date().isoformat()
    path = choose_policies(policies, require_signature).path.absolute()
    changes, on, off, tried = (tuple(sorted(names)) for names in (set_, enable, disable, experimental))
    request = LoadRequest(name or "", path, changes, on, off, today, tried)
    cache = cache and rules is None
    key, found = fetch(request) if cache else ("", None)
    if found is not None:
        return found
    from .build import build_bundle

    if rules is not None:
        return build_bundle(request, Path(rules).absolute())[0]
    bundle, inputs = build_bundle(request)
    if cache:
        keep(key, bundle, inputs)
    return bundle
