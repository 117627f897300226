"""What `kusanya audit` prints of one act: a line for people, a document for programs. Pure."""

from collections.abc import Mapping
from typing import Any

from kusanya.alarms.alarm import describe_alarm_id
from kusanya.lookup import Subject
from kusanya.privacy import mask_text
from kusanya.store.records import AuditRow
from kusanya.text import safe
from kusanya_console.cli.lookup.words import in_eat
from kusanya_console.ui.language import translate


def audit_line(row: AuditRow, subjects: Mapping[str, Subject]) -> str:
    """Return one act as a line, with the reference of what it was done to where that has one."""
    said = mask_text(f"{row.detail}  {translate(row.outcome)}".strip())
    of = subjects.get(row.subject or "")
    named = "" if of is None else f"  {mask_text(of.reference)}"
    raw = row.subject or "-"
    alarm = describe_alarm_id(raw)
    about = f"{mask_text(raw) if alarm is None else translate(alarm)}{named}"
    act = translate(row.act.replace("_", " "))
    return safe(f"{in_eat(row.at)}  {row.actor}  {act}  {about}  {said}", 600)


def audit_json(row: AuditRow, subjects: Mapping[str, Subject]) -> dict[str, Any]:
    """Return one act for scripts."""
    of = subjects.get(row.subject or "")
    return {
        "id": row.id,
        "at": row.at,
        "actor": row.actor,
        "act": row.act,
        "subject": None if row.subject is None else mask_text(row.subject),
        "reference": None if of is None else mask_text(of.reference),
        "mode": None if of is None else of.mode.value,
        "detail": mask_text(row.detail),
        "outcome": mask_text(row.outcome),
    }
