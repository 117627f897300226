"""One action for several records: one after the other, with progress and one summary."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.ui.language import translate

T = TypeVar("T")
_NAMED: Final = 3
"""So many of those that failed are named with their reason."""


def run_together(
    done: str,
    targets: Sequence[T],
    act: Callable[[T], ActionResult],
    *,
    name: Callable[[T], str],
    progress: Callable[[str], None],
    stopped: Callable[[], bool],
) -> ActionResult:
    """Run `act` for each target and return one result for all; `done` is what is done, in words.

    A target whose action fails stops no other. `progress` is called before each with a sentence,
    and `stopped` is asked whether to leave the rest alone.
    """
    good = idle = 0
    failed: list[str] = []
    begun = 0
    for target in targets:
        if stopped():
            break
        begun += 1
        progress(f"{progress_words(done, begun, len(targets))}…")
        try:
            result = act(target)
        except KusanyaError as error:
            failed.append(f"{name(target)}: {safe(translate(str(error)), 160)}")
            continue
        if result.is_good or result.outcome is ActionOutcome.DIFFERS:
            good += 1
        elif result.outcome is ActionOutcome.NOTHING_TO_DO:
            idle += 1
        else:
            failed.append(f"{name(target)}: {translate(result.sentence)}")
    count, all_ = f"{good:,}", f"{len(targets):,}"
    said = translate("{done} {count} of {all}", done=translate(done), count=count, all=all_)
    outcome = ActionOutcome.FAILED if failed or not good else ActionOutcome.DONE
    return ActionResult(said + _others(idle, len(targets) - begun, failed), outcome)


def _others(idle: int, left: int, failed: list[str]) -> str:
    """Return what became of those that were not done, for the end of the sentence."""
    said = [""]
    if idle:
        said.append(translate("{count} had nothing to do", count=f"{idle:,}"))
    if left:
        said.append(translate("{count} were left when it was stopped", count=f"{left:,}"))
    if failed:
        said.append(_failures(failed))
    return ", ".join(said)


def progress_words(done: str, begun: int, targets: int) -> str:
    """Return how many of several are done, or begun, in words."""
    count, all_ = f"{begun:,}", f"{targets:,}"
    return translate("{done}: {count} of {all}", done=translate(done), count=count, all=all_)


def _failures(failed: Sequence[str]) -> str:
    named = "; ".join(failed[:_NAMED])
    if len(failed) > _NAMED:
        named += f" {translate('and {count} more', count=f'{len(failed) - _NAMED:,}')}"
    return translate("{count} failed: {named}", count=f"{len(failed):,}", named=named)
