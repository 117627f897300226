"""How each program comes into the store: the one file, or a login of its own on PostgreSQL."""

from collections.abc import Iterable, Mapping
from typing import Final

from kusanya_console.deploy import Kind

LOGINS: Final[Mapping[str, str]] = {
    "owner": "",
    "receive": "kusanya_ask",
    "watch": "kusanya_act",
    "reconcile": "kusanya_decide",
    "console": "kusanya_act, kusanya_vouch",
    "scratch": "",
}
"""What each login is a member of.

`owner` migrates and makes backups; `scratch` owns the database that backups are tried in.
"""
_FOLDER: Final = "/etc/kusanya/store"


def store_values(kind: Kind, store: str) -> dict[str, str]:
    """Return what stands in the templates about the store; no password is in it."""
    if not store.startswith("postgres"):
        return _of_a_file(kind, store)
    logins = [name for name in LOGINS if name != "console" or kind is Kind.SYSTEMD]
    words = _words(store, logins)
    if kind is Kind.SYSTEMD:
        return {
            "database": " postgresql.service",
            "store_setting": f"# The address of the store is a credential of each unit: {_FOLDER}.",
            "store_steps": "\n".join(
                (
                    f"install -d -m 700 {_FOLDER}",
                    *(f"install -m 600 /dev/stdin {_FOLDER}/{name}    # {_example(store, name)}"
                      for name in logins),
                )
            ),
            "store_words": words,
        } | {f"login_{name}": _credential(name) for name in LOGINS}  # fmt: skip
    return {
        "store_setting": "KUSANYA_STORE_FILE: /run/secrets/store\n"
        "    KUSANYA_SCRATCH_FILE: /run/secrets/scratch",
        "store_steps": "\n".join(
            f"cat > secrets/store-{name}    # {_example(store, name)}" for name in logins
        ),
        "store_words": words,
        "store_secrets": "\n".join(
            f"  store-{name}: {{file: ./secrets/store-{name}}}" for name in logins
        ),
    } | {f"login_{name}": f", {{source: store-{name}, target: {_target(name)}}}" for name in LOGINS}


def _of_a_file(kind: Kind, store: str) -> dict[str, str]:
    setting = f"KUSANYA_STORE={store}" if kind is Kind.SYSTEMD else f'KUSANYA_STORE: "{store}"'
    nothing = ("database", "store_steps", "store_words", "store_secrets")
    return (
        dict.fromkeys((*nothing, *(f"login_{name}" for name in LOGINS)), "")
        | {"store_setting": setting}
        | ({"store_words": _words(store, LOGINS)} if kind is Kind.KUBERNETES else {})
    )


def _target(name: str) -> str:
    return "scratch" if name == "scratch" else "store"


def _credential(name: str) -> str:
    return f"LoadCredential=kusanya-{_target(name)}:{_FOLDER}/{name}"


def _example(store: str, name: str) -> str:
    place = store.partition("://")[2].rpartition("@")[2] if "://" in store else "HOST/kusanya"
    database, mark, parameters = place.partition("?")
    if name == "scratch":
        database = f"{database}_scratch"
    return f"postgresql://kusanya_{name}:PASSWORD@{database}{mark}{parameters}"


def _words(store: str, logins: Iterable[str]) -> str:
    given = list(logins)
    if not store.startswith("postgres"):
        store = "postgresql://HOST/kusanya"
        given = [name for name in given if name != "console"]
    people = [name for name in given if LOGINS[name]]
    lines = (
        "Each program has a login of its own, so that none can do more than it has to. The",
        "superuser of PostgreSQL runs:",
        "",
        "```sql",
        "-- Before the first migration. The owner makes roles as well, see below.",
        "CREATE ROLE kusanya_owner LOGIN CREATEROLE PASSWORD '…';",
        "CREATE DATABASE kusanya OWNER kusanya_owner;",
        "-- Backups are tried in it; nothing else lies there.",
        _create("scratch"),
        "CREATE DATABASE kusanya_scratch OWNER kusanya_scratch;",
        "-- After the first `kusanya store roles --sql | psql -d kusanya`, which the owner runs",
        "-- after each migration.",
        *map(_create, people),
        "```",
        "",
        "The owner makes the nightly dump with `pg_dump`, which has to be of the server's version.",
        "Where a pooler such as PgBouncer stands before the server, `owner` and `scratch` name the",
        "server itself: a dump changes its session, which the pooler gives to its next client.",
        "What each file holds; a sign in a password that means something in an address is written",
        "as %40:",
        "",
        "| file | holds |",
        "|---|---|",
        *(f"| `{name}` | `{_example(store, name)}` |" for name in given),
    )
    return "\n".join(lines)


def _create(name: str) -> str:
    member = f" IN ROLE {LOGINS[name]}" if LOGINS[name] else ""
    return f"CREATE ROLE kusanya_{name} LOGIN PASSWORD '…'{member};"
