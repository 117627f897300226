"""An address that may hold a password shows it in no form, however it is spelt."""

import copy
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kusanya.privacy.secret_url import SecretUrl, mask_url

PASSWORD = "Geheim7x"
ADDRESSES = (
    "postgresql://u:{}@h/db",
    "postgresql://u:{}@h:5432/db?sslmode=require",
    "postgresql://u@h/db?password={}",
    "postgresql://u@h/db?sslmode=require&PASSWORD={}",
    "postgresql://u@h/db?sslpassword={}",
    "postgresql://u@h/db?passfile=/run/{}",
    "postgresql://u@h/db?options=-c%20x%3D{}",
    "postgresql://u:p/{}@h/db",
    "postgresql://u:p?{}@h/db",
    "postgresql://u:p?x={}@h/db",
    "postgresql://u:p#{}@h/db",
    "postgresql://u:p@{}@h/db",
    "postgresql://u:p&host={}@h/db",
    "postgresql://:{}@h/db",
    "postgresql:u:{}@h/db",
    "postgresql:/u:{}@h/db",
    "postgresql+psycopg://u:{}@h/db",
    "postgres://u:{}@h/db",
    "u:{}@h/db",
    "host=h user=u password={}",
    "host=h user=u password = '{} {}' dbname=d",
    "host=h user=u password='it\\'s {}",
    "https://u:{}@pay.example/v1",
    "https://{}@pay.example/v1",
    "https://pay.example/v1?token={}",
    "https://pay.example/v1#{}",
    "sc://spark.example:15002/;token={}@x",
    "http://u:{}@127.0.0.1:1/dashboard/clock",
    "postgresql://u@h/db?application_name=a@{}",
)


@pytest.mark.parametrize("spelling", ADDRESSES)
def test_no_form_of_an_address_shows_its_password(spelling: str) -> None:
    address = SecretUrl(spelling.replace("{}", PASSWORD))
    for shown in (str(address), repr(address), f"{address}", f"{address:>200}", f"{address!r}"):
        assert PASSWORD not in shown
    assert address.reveal() == spelling.replace("{}", PASSWORD)
    assert address.has_credentials


@pytest.mark.parametrize(
    "harmless",
    [
        "./kusanya.sqlite",
        "/var/lib/kusanya/store.sqlite",
        "sqlite:////var/lib/kusanya/store.sqlite",
        "C:\\kusanya\\store.sqlite",
        "postgresql://kusanya@db.internal:5432/kusanya",
        "postgresql://kusanya@db/kusanya?sslmode=verify-full&connect_timeout=3",
        "https://pay.example/v1",
        "host=db user=kusanya dbname=kusanya",
        "store 2.sqlite",
    ],
)
def test_what_holds_no_secret_is_shown_as_it_is(harmless: str) -> None:
    address = SecretUrl(harmless)
    assert str(address) == harmless
    assert not address.has_credentials


_word = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)


@given(before=_word, after=_word, user=st.sampled_from(["u", "", "kusanya"]))
@example(before="/", after="?", user="u")
@example(before="@", after="#", user="u")
@example(before="", after="/?sslmode=", user="u")
def test_no_sign_in_a_password_brings_it_out(before: str, after: str, user: str) -> None:
    shown = mask_url(f"postgresql://{user}:{before}{PASSWORD}{after}@db.internal/kusanya")
    assert PASSWORD not in shown


@given(text=st.text(max_size=60))
def test_any_text_can_be_masked_and_masking_again_hides_no_less(text: str) -> None:
    assert isinstance(mask_url(text), str)
    assert PASSWORD not in mask_url(f"{text}:{PASSWORD}@h")


def test_it_is_the_same_address_only_by_what_it_reveals() -> None:
    one, other = SecretUrl("postgresql://u:a@h/d"), SecretUrl("postgresql://u:b@h/d")
    assert str(one) == str(other)
    assert one != other
    assert SecretUrl(one) == one
    assert len({one, other, SecretUrl("postgresql://u:a@h/d")}) == 2


def test_it_leaves_by_no_pickle_and_no_copy() -> None:
    address = SecretUrl(f"postgresql://u:{PASSWORD}@h/d")
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(address)
    with pytest.raises(TypeError, match="not pickled"):
        copy.deepcopy(address)
