"""A shop loses its disk: what a person types, from the backup to the next order."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shop(
    kusanya: Kusanya,
    payment_service: PaymentService,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Kusanya:
    """Return the command line of a shop beside a fresh service, on one clock."""
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    monkeypatch.setenv("KUSANYA_API_KEY", payment_service.test_key)
    monkeypatch.chdir(tmp_path)
    clock = f"--clock={payment_service.dashboard_url}/clock"

    def run(*words: str, timed: bool = False) -> tuple[int, str, str]:
        return kusanya(*words, *([clock] if timed else []))

    return run


@pytest.mark.merge
def test_a_backup_is_restored_and_orders_go_on_once_what_happened_since_is_known(
    shop: Kusanya, payment_service: PaymentService, tmp_path: Path
) -> None:
    def collect(reference: str, store: str) -> tuple[int, str, str]:
        return shop("collect", "5000", "0754000001", reference, f"--store={store}", timed=True)

    def made() -> list[str]:
        listed = payment_service.dashboard("GET", "collections?mode=test")["data"]
        return sorted(one["id"] for one in listed)

    assert collect("INV-0", "shop.sqlite")[0] == 0
    code, out, _ = shop("store", "backup", "backup.sqlite", "--store=shop.sqlite", "--json")
    digest = msgspec.json.decode(out)["sha256"]
    assert (code, len(digest)) == (0, 64)
    for number in range(1, 13):
        payment_service.advance(3600)
        assert collect(f"INV-{number}", "shop.sqlite")[0] == 0
    charged = made()
    assert len(charged) == 13

    words = ("store", "restore", "backup.sqlite", "--to=new.sqlite", f"--sha256={digest}")
    code, out, err = shop(*words, timed=True)
    assert (code, err) == (0, "")
    assert "restored new.sqlite" in out
    assert "resolve-restore" in out
    code, _, err = shop(*words, timed=True)
    assert (code, "never overwrites" in err) == (1, True)
    code, out, _ = shop("health", "--store=new.sqlite")
    assert (code, "every new creation is refused" in out) == (1, True)
    for number in range(1, 13):
        code, _, err = collect(f"INV-{number}", "new.sqlite")
        assert (code, "kusanya store resolve-restore" in err) == (1, True)
    assert made() == charged

    def resolve(*options: str) -> tuple[int, str, str]:
        return shop("store", "resolve-restore", "--store=new.sqlite", "--why=list", *options,
                    timed=True)  # fmt: skip

    listing = tmp_path / "list.csv"
    listing.write_text("Reference,ID\nINV-1,col_none\n")
    code, _, err = resolve(f"--collections={listing}")
    assert code == 1
    assert "col_none: unknown to the service" in err
    assert "the restore is not resolved" in err
    listing.write_text(
        "Reference,ID\n" + "".join(f"INV-{n},{one}\n" for n, one in enumerate(charged))
    )
    code, out, _ = resolve(f"--collections={listing}")
    assert (code, "creations are sent again" in out) == (0, True)
    for number in range(13):
        code, _, err = collect(f"INV-{number}", "new.sqlite")
        known = number == 0  # it was made before the backup: the same call returns it
        assert (code, "this reference was used before" in err) == (int(not known), not known)
    assert made() == charged
    assert collect("INV-13", "new.sqlite")[0] == 0
    assert len(made()) == 14
    assert shop("store", "check", "--store=new.sqlite")[0] == 0


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("INV-1\n", "row 1: a list begins with a col_ id or with a header that has a column 'id'"),
        ("col_1\n\nINV-2\n", "row 3: 'INV-2' is no col_ id"),
        ("id,amount\ncol_1,5\n,6\n", "row 3: '' is no col_ id"),
        ("\n", "holds no id: where nothing was created, say --nothing-created"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_its_row(
    shop: Kusanya, tmp_path: Path, listed: str, said: str
) -> None:
    (tmp_path / "list.csv").write_text(listed)
    code, out, err = shop("store", "resolve-restore", "--collections=list.csv", "--why=list")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err


def test_a_store_put_back_by_other_tools_is_marked(shop: Kusanya) -> None:
    assert shop("store", "migrate", "--store=here.sqlite")[0] == 0
    code, out, _ = shop(
        "store", "mark-restored", "--backup=pg_dump of 02:00", "--store=here.sqlite"
    )
    assert (code, "marked here.sqlite as restored" in out) == (0, True)
    code, _, err = shop("collect", "5000", "0754000001", "INV-1", "--store=here.sqlite")
    assert (code, "restored from a backup" in err) == (1, True)
    words = ("store", "resolve-restore", "--nothing-created", "--store=here.sqlite")
    code, out, _ = shop(*words, "--why=the dashboard shows none")
    assert (code, "creations are sent again" in out) == (0, True)
    assert shop("collect", "5000", "0754000001", "INV-1", "--store=here.sqlite")[0] == 0
