"""Who acted is told by the store: the database's role or the system's user, never a variable."""

import os
import pwd

import pytest

from kusanya.store import Store


def test_the_actor_of_an_audit_row_is_whom_the_store_knows(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("USER", "LOGNAME", "USERNAME", "LNAME"):
        monkeypatch.setenv(name, "somebody-else")
    role = "postgres" if url.startswith("postgres") else pwd.getpwuid(os.getuid()).pw_name
    row = store.audit.add(actor="till 4", act="note", detail="seen")
    assert (row.actor, row.detail) == (role, "seen (as till 4)")
    assert store.audit.page().rows[0] == row
    assert store.audit.actor == role
    assert store.audit.add(actor=role, act="note", detail="seen").detail == "seen"


def test_a_program_that_vouches_for_its_people_acts_in_the_name_of_one(
    store: Store, url: str
) -> None:
    login = store.audit.actor
    with Store.open(url, acting_as="asha") as theirs:
        assert theirs.audit.actor == "asha"
        row = theirs.audit.add(actor="asha", act="note", detail="seen")
        assert (row.actor, row.detail) == ("asha", f"seen (through {login})")
        assert theirs.audit.add(actor="asha", act="note").detail == f"(through {login})"
    assert store.audit.add(actor=login, act="note", detail="seen").detail == "seen"
