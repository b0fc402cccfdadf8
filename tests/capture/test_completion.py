"""Tab completion of `reflect`: live ids with task and last error, in a real bash and in what zsh and fish are told."""

from __future__ import annotations

import shutil
import sys
from typing import Final

import pytest

from .shelf import lay
from .shell import Bash, installed
from .world import World

bash = pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="needs bash and a terminal")

REFUSED: Final = "ModelError: the server answered 400"
LATE: Final = "TimeoutError: it took more than 120 s"


def asked(world: World, shell: str, *words: str) -> str:
    """Return what a shell is told after words of which the last is incomplete."""
    asks = {"COMP_WORDS": " ".join(("reflect-gate", *words)), "COMP_CWORD": words[-1] if shell == "fish" else str(len(words))}
    done = world.run(env={**asks, "_REFLECT_GATE_COMPLETE": f"{shell}_complete"})
    assert (done.code, done.err) == (0, "")
    return done.out


@bash
def test_a_real_bash_lists_dead_letters_with_task_and_error(world: World) -> None:
    """R-k1: two TABs after `retry` list the live ids, each with its task and its last error; a prefix and TAB insert the id."""
    first, second = lay(world, dead=[("Fix the cart", REFUSED), ("Port the parser", LATE)])
    with Bash(world.environ, installed(world.root / "bin")) as shell:
        shell.run('eval "$(reflect-gate completion bash)"')
        shell.type("reflect-gate reflect retry \t\t")
        listed = shell.until("ready> reflect-gate reflect retry ")
        assert f"{first}  (Fix the cart · {REFUSED})" in listed
        assert f"{second}  (Port the parser · {LATE})" in listed
        shell.type(f"{first[:6]}\t")
        shell.until(first)
        assert f"{first} waits again" in shell.run("")


@bash
def test_a_real_bash_inserts_a_single_candidate_without_its_description(world: World) -> None:
    """R-k1: where there is one dead letter, TAB inserts its id and nothing else."""
    (only,) = lay(world, dead=[("Fix the cart", REFUSED)])
    with Bash(world.environ, installed(world.root / "bin")) as shell:
        shell.run('eval "$(reflect-gate completion bash)"')
        shell.type("reflect-gate reflect purge \t")
        shell.until(only)
        assert f"{only} is removed" in shell.run("")


def test_zsh_and_fish_are_told_the_descriptions(world: World) -> None:
    """R-k1: both shells show help beside a candidate, and get it."""
    (only,) = lay(world, dead=[("Fix the cart", REFUSED)])
    assert asked(world, "zsh", "reflect", "retry", "").splitlines() == ["plain", only, f"Fix the cart · {REFUSED}"]
    assert asked(world, "fish", "reflect", "purge", "").splitlines()[-1:] == [f"plain,{only}\tFix the cart · {REFUSED}"]


def test_what_is_expired_can_be_retried_and_not_purged(world: World) -> None:
    """`retry` offers expired jobs too; `purge` is for dead letters."""
    (old,) = lay(world, expired=["An old task"])
    assert old in asked(world, "bash", "reflect", "retry", "")
    assert asked(world, "bash", "reflect", "purge", "").strip() == ""


def test_verbs_are_completed(world: World) -> None:
    """The first word may be a verb."""
    assert asked(world, "bash", "reflect", "re").split() == ["plain,retry"]


def test_a_hostile_task_cannot_drive_the_prompt(world: World) -> None:
    """A task is text of others: what could move the cursor or break the line reaches no shell raw."""
    lay(world, dead=[("Fix\n\x1b[31mplain,evil", REFUSED), ("Other", LATE)])
    told = asked(world, "fish", "reflect", "retry", "")
    assert "\x1b" not in told
    assert len(told.splitlines()) == 2


def test_nothing_is_made_by_completing(world: World) -> None:
    """Where there is no queue, completion offers nothing and leaves nothing behind."""
    assert asked(world, "bash", "reflect", "retry", "").strip() == ""
    assert not world.home.exists()
