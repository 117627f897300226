"""One action for several records: one after the other, with progress and one summary."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult

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
        progress(f"{done}: {begun:,} of {len(targets):,}…")
        try:
            result = act(target)
        except KusanyaError as error:
            failed.append(f"{name(target)}: {safe(str(error), 160)}")
            continue
        if result.is_good or result.outcome is ActionOutcome.DIFFERS:
            good += 1
        elif result.outcome is ActionOutcome.NOTHING_TO_DO:
            idle += 1
        else:
            failed.append(f"{name(target)}: {result.sentence}")
    said = [f"{done} {good:,} of {len(targets):,}"]
    said += [f"{idle:,} had nothing to do"] if idle else []
    said += (
        [f"{len(targets) - begun:,} were left when it was stopped"] if begun < len(targets) else []
    )
    if failed:
        more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        said.append(f"{len(failed):,} failed: {'; '.join(failed[:_NAMED])}{more}")
    outcome = ActionOutcome.FAILED if failed or not good else ActionOutcome.DONE
    return ActionResult(", ".join(said), outcome)
