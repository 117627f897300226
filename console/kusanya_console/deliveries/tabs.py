"""What one arrival brought, in words: its body, its headers, its signature.

Pure. Nothing of it was ever parsed as markup, phones are masked wherever they are recognised, and
what looks like a secret is not repeated.
"""

from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec
from rich.cells import chop_cells

from kusanya.domain.limits import SIGNATURE_TOLERANCE_S
from kusanya.privacy import mask_json, redact
from kusanya.say import plural
from kusanya.store.records import DeliveryBody, DeliveryRow, Verdict
from kusanya.text import safe
from kusanya.webhooks.forensics import DeliveryFinding
from kusanya_console.deliveries.signed import signed_runs
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import Line, Look, cell, labelled, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, FAILED, MUTED, PLAIN, WARN

_LINES: Final = 200
_DRAWN: Final = 16_384
"""Bytes of a body that are read to be drawn, and characters that are drawn."""
_LONGEST: Final = 2_000
_HEADERS: Final = 60


class DeliveryTab(StrEnum):
    """What the pane shows of an arrival."""

    ATTEMPTS = "attempts"
    BODY = "body"
    HEADERS = "headers"
    SIGNATURE = "signature"
    SENDER = "sender"


def tab_line(tabs: tuple[DeliveryTab, ...], here: DeliveryTab) -> Line:
    """Return the names of the tabs; a mark says which one is shown, colour or not."""
    return tuple(
        (f"{'▸' if tab is here else ' '}{translate(tab.value)}", _role(tab is here)) for tab in tabs
    )


def _role(here: bool) -> str:  # noqa: FBT001 - one of two roles
    return ACCENT if here else MUTED


def body_text(body: bytes) -> str:
    """Return a body for reading, phones masked: indented where it is JSON, else as it came."""
    try:
        return msgspec.json.format(mask_json(body), indent=2)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return redact(body.decode("utf-8", "replace"))


class ShownBody(msgspec.Struct, frozen=True, kw_only=True):
    """A body as far as it is drawn: made once, on a worker thread, whatever it holds."""

    lines: tuple[str, ...]
    """Masked and safe to show."""
    more: int
    """Lines that are left out."""
    is_cut: bool
    """Whether the body is longer than what was read of it."""
    digest: str


def shown_body(body: bytes) -> ShownBody:
    """Return what is drawn of a body: a long one is not indented, and only its begin is read."""
    is_cut = len(body) > _DRAWN
    written = redact(mask_json(body, _DRAWN)) if is_cut else body_text(body)
    every = written.split("\n")
    lines: list[str] = []
    room = _DRAWN
    for line in every[:_LINES]:
        lines.append(safe(line, min(_LONGEST, room)))
        room -= len(lines[-1])
        if room <= 0:
            break
    return ShownBody(
        lines=tuple(lines),
        more=len(every) - len(lines),
        is_cut=is_cut,
        digest=sha256(body).hexdigest(),
    )


def body_lines(
    row: DeliveryRow, held: DeliveryBody | None, shown: ShownBody | None, width: int
) -> list[Line]:
    """Return the body, how long it is, and what tells it from any other."""
    if held is None:
        return [((translate("reading the body"), MUTED),)]
    if shown is None:
        said = "The body is no longer kept: retention has removed it. What it said stands above."
        return wrapped(translate(said), width, role=MUTED)
    short = shown.digest[:12]
    kept = translate("{count} bytes, kept exactly", count=f"{row.body_bytes:,}")
    lines: list[Line] = [
        ((f"{kept}   sha256 {short}…", MUTED),),
        (),
    ]
    for line in shown.lines:
        lines += [((piece, PLAIN),) for piece in chop_cells(line, width) or [""]]
    if shown.more:
        more = translate(plural(shown.more, "and 1 line more", "and {count} lines more"))
        lines.append(((more, MUTED),))
    if shown.is_cut:
        said = "Only the begin of this long body is shown."
        lines += wrapped(translate(said), width, role=MUTED)
    return lines


def header_lines(held: DeliveryBody | None, width: int) -> list[Line]:
    """Return the headers in the order in which they came."""
    if held is None:
        return [((translate("reading the headers"), MUTED),)]
    count = len(held.headers)
    many = "1 header, as it came" if count == 1 else "{count} headers, as they came"
    lines: list[Line] = [((translate(many, count=count), MUTED),), ()]
    for name, value in held.headers[:_HEADERS]:
        lines.append(((f"{safe(name.decode('latin-1'), 60)}:", MUTED),))
        said = safe(redact(value[: 2 * _LONGEST].decode("latin-1")), _LONGEST)
        lines += [(("  ", PLAIN), (piece, PLAIN)) for piece in chop_cells(said, width - 2)]
    if len(held.headers) > _HEADERS:
        more = translate("and {count} more", count=len(held.headers) - _HEADERS)
        lines.append(((more, MUTED),))
    return lines


def signature_lines(
    row: DeliveryRow,
    held: DeliveryBody | None,
    finding: DeliveryFinding | None,
    look: Look,
    width: int,
) -> list[Line]:
    """Return what the signature says, and for a rejected delivery what is the matter with it."""
    rejected = row.verdict is Verdict.REJECTED
    lines: list[Line] = [
        labelled("verdict", vocabulary.verdict(row)),
        labelled("signed t", *signed_runs(row, held, look, most=SIGNATURE_TOLERANCE_S)),
        labelled("secrets", (translate("{count} tried", count=row.secrets_tried), PLAIN)),
    ]
    if row.reason is not None:
        lines.append(labelled("reason", cell(row.reason, FAILED if rejected else WARN, limit=60)))
        lines += wrapped(translate(vocabulary.reason(row.reason)), width, indent=12)
    if finding is None:
        said = (
            "What exactly is wrong can be said where the endpoint's secrets are known and the "
            "body is kept: start the console with KUSANYA_SECRETS."
        )
        return [*lines, (), *wrapped(translate(said), width, role=MUTED)]
    lines.append(())
    lines += wrapped(safe(translate(finding.sentence), 400), width, label="finding")
    if finding.authentic and rejected:
        said = "With the secrets of now it verifies: they were others when it arrived."
        lines += wrapped(translate(said), width, indent=12, role=WARN)
    lines.append(labelled("cause", cell(finding.cause, limit=40)))
    if finding.secret_index is not None:
        whose = cell(finding.endpoint or row.endpoint, limit=40)
        secret = translate("secret {number} of", number=finding.secret_index + 1)
        lines.append(labelled("signed with", (f"{secret} ", PLAIN), whose))
    elif finding.endpoint is not None:
        lines.append(labelled("signed with", cell(finding.endpoint, WARN, limit=40)))
    if vocabulary.to_do(row.reason):
        lines += (
            (),
            *wrapped(translate(vocabulary.to_do(row.reason)), width, label="to do"),
        )
    return lines
