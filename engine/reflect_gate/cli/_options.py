"""Options that several verbs share: which bundle to judge by, how to print, where to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import click

from ..errors import ReflectGateError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..policy import Bundle

__all__ = [
    "BundleChoice",
    "bundle_options",
    "examples",
    "format_option",
    "jobs_option",
    "output_option",
    "policies_option",
    "seed_option",
    "shadow_option",
]

P = ParamSpec("P")
R = TypeVar("R")

ENGINES = ("durable", "compiled")


class BundleChoice(NamedTuple):
    """The bundle that the command line names, and what it changes in it; sent to worker processes as it is."""

    name: str | None = None
    policies: str | None = None
    set_: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    as_of: str | None = None
    engine: str | None = None
    require_signature: str | None = None
    shadow: str | None = None
    experimental: tuple[str, ...] = ()
    told: bool = False

    def load(self, *, cache: bool = True, rules: str | None = None) -> Bundle:
        """Load the bundle; every error of its files is raised at once. `rules` is a rule-set file that is tried in it."""
        from ..policy import load_bundle

        bundle = load_bundle(
            self.name,
            policies=self.policies,
            set_=self.set_,
            enable=self.enable,
            disable=self.disable,
            experimental=self.experimental,
            as_of=self.as_of,
            require_signature=self.require_signature,
            cache=cache,
            rules=rules,
        )
        if bundle.notices and not self.told:
            self._tell(bundle)
        return self._with_engine(bundle)

    def _tell(self, bundle: Bundle) -> None:
        """Warn of old names that stand on the command line; those in files are told by `policy check`."""
        from ._output import warn

        for notice in bundle.notices:
            if notice.origin.file.startswith("--"):
                warn(ReflectGateError(*notice))

    def load_shadow(self, as_of: str) -> Bundle | None:
        """Load the bundle that looks on, as of the same day, `None` where none does; it takes no options of the deciding one."""
        if self.shadow is None:
            return None
        from ..policy import load_bundle

        bundle = load_bundle(self.shadow, policies=self.policies, as_of=as_of, require_signature=self.require_signature)
        return self._with_engine(bundle)

    def on_day(self, as_of: str) -> BundleChoice:
        """Return the same choice with the day fixed, for a worker, which need not warn again."""
        return self._replace(as_of=as_of, told=True)

    def with_setting(self, setting: str) -> BundleChoice:
        """Return the same choice with one more setting changed, as `--set` writes it."""
        return self._replace(set_=(*self.set_, setting))

    def _with_engine(self, bundle: Bundle) -> Bundle:
        if self.engine == "compiled":
            return bundle._replace(engine="compiled", cross_check=False)
        if self.engine == "durable" and bundle.engine != "durable":
            from ..policy.build import durable_available

            if not durable_available():
                raise ReflectGateError("engine-missing", "`--engine durable` needs durable-rules, which cannot be imported here")
            return bundle._replace(engine="durable", cross_check=True)
        return bundle


def complete_bundle(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of the policies file's bundles."""
    return _completions(_bundle_docs, ctx, incomplete)


def complete_ruleset(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of the bundle's rule sets."""
    return _completions(_ruleset_docs, ctx, incomplete)


def complete_experimental(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the bundle's experimental rules."""
    return _completions(_experimental_docs, ctx, incomplete)


def complete_setting(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of the bundle's settings."""
    return _completions(_setting_docs, ctx, incomplete)


def _completions(
    names: Callable[[click.Context], Mapping[str, str]], ctx: click.Context, incomplete: str
) -> list[CompletionItem]:
    try:
        found = names(ctx)
    except (ReflectGateError, OSError):  # a broken policies file is reported when the command runs, not while it is typed
        return []
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=doc) for name, doc in found.items() if name.startswith(incomplete)]


def _bundle_docs(ctx: click.Context) -> Mapping[str, str]:
    from ._policies import bundle_docs

    return bundle_docs(ctx.params.get("policies"))


def _loaded(ctx: click.Context) -> Bundle:
    return BundleChoice(ctx.params.get("bundle"), ctx.params.get("policies")).load()


def _ruleset_docs(ctx: click.Context) -> dict[str, str]:
    return {ruleset.name: ruleset.doc for ruleset in _loaded(ctx).rulesets}


def _experimental_docs(ctx: click.Context) -> dict[str, str]:
    tried = _loaded(ctx).trying()
    return {**{rule.name: rule.doc for rule in tried.program.rules if rule.maturity == "experimental"}, "all": "All of them."}


def _setting_docs(ctx: click.Context) -> dict[str, str]:
    return {f"{name}=": setting.doc for name, setting in _loaded(ctx).settings.items()}


policies_option = click.option(
    "--policies",
    metavar="FILE",
    type=click.Path(),
    help="The policies file or its folder, an archive, or REF:path of git; else REFLECT_GATE_POLICIES, the home folder's, the "
    "shipped one; never the working directory's.",
)

_BUNDLE_OPTIONS = (
    click.option(
        "-b",
        "--bundle",
        metavar="NAME",
        envvar="REFLECT_GATE_BUNDLE",
        shell_complete=complete_bundle,
        help="The bundle to judge by.",
    ),
    policies_option,
    click.option(
        "--set",
        "set_",
        metavar="KEY=VALUE",
        multiple=True,
        shell_complete=complete_setting,
        help="Change a setting, as grounding.min_anchor_overlap=0.6; may be repeated.",
    ),
    click.option(
        "--enable",
        metavar="RULESET",
        multiple=True,
        shell_complete=complete_ruleset,
        help="Switch a rule set on, or a rule as grounding/unsupported-claim; may be repeated.",
    ),
    click.option(
        "--disable",
        metavar="RULESET",
        multiple=True,
        shell_complete=complete_ruleset,
        help="Switch a rule set off, or a single rule; may be repeated.",
    ),
    click.option(
        "--enable-experimental",
        "experimental",
        metavar="RULE",
        multiple=True,
        shell_complete=complete_experimental,
        help="Let an experimental rule decide, those of a rule set, or `all`; may be repeated.",
    ),
    click.option(
        "--as-of", metavar="DATE", help="The day that decides which overrides have expired, as 2027-01-31; else today (UTC)."
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="Infer with durable-rules, checked against the compiled engine, or with the compiled engine alone.",
    ),
    click.option(
        "--require-signature",
        metavar="KEYFILE",
        help="Accept only an archive that one of these public keys signed; else REFLECT_GATE_REQUIRE_SIGNATURE.",
    ),
)


def bundle_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a verb the options that choose a bundle; it receives them as one `choice`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> R:
        names = ("bundle", "policies", "set_", "enable", "disable", "as_of", "engine", "require_signature")
        choice = BundleChoice(*[kwargs.pop(name) for name in names])._replace(experimental=kwargs.pop("experimental"))
        return function(*args, choice=choice, **kwargs)

    for option in reversed(_BUNDLE_OPTIONS):
        option(wrapper)
    return wrapper


def shadow_option(function: Callable[..., R]) -> Callable[..., R]:
    """Give a verb that has `bundle_options` the option `--shadow`, which its `choice` carries."""

    @functools.wraps(function)
    def wrapper(*args: Any, choice: BundleChoice, shadow: str | None, **kwargs: Any) -> R:
        return function(*args, choice=choice._replace(shadow=shadow), **kwargs)

    option = click.option(
        "--shadow",
        metavar="BUNDLE",
        shell_complete=complete_bundle,
        help="Keep beside each decision what this bundle would have decided; it decides nothing.",
    )
    return option(wrapper)


def examples(*commands: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a verb's help examples, one a line; stands under the decorators that read the help."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        lines = "".join(f"  {command}\n" for command in commands)
        # A lone backspace is click's mark for a paragraph that is not to be wrapped.
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\nExamples:\n{lines}"
        return function

    return decorate


def format_option(*formats: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a verb `--format` with these choices; the first is the default."""
    return click.option(
        "-f",
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How the result is printed.",
    )


output_option = click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the result here, whole or not at all."
)

jobs_option = click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes for a batch."
)

seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Whatever is drawn is drawn by this number.")
