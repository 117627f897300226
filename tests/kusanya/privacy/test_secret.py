"""A secret shows itself nowhere."""

import copy
import pickle
import traceback

import pytest

from kusanya.privacy.secret import Secret

VALUE = "whsec_canary"


def test_a_secret_has_one_way_out() -> None:
    secret = Secret(VALUE)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", repr([secret])]
    assert all("canary" not in one for one in shown)
    assert secret.reveal() == VALUE
    assert Secret(secret).reveal() == VALUE


def test_a_traceback_with_locals_does_not_show_it() -> None:
    secret = Secret(VALUE)
    try:
        int(f"cannot use {secret}")
    except ValueError as error:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert "secret = Secret(...)" in "".join(report.format())
    assert VALUE not in str(report)


def test_it_is_neither_copied_nor_pickled_nor_given_attributes() -> None:
    secret = Secret(VALUE)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            act(secret)
    assert not hasattr(secret, "__dict__")


def test_equal_secrets_are_equal_and_nothing_else_is() -> None:
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert Secret("é") == Secret("é")
    assert (Secret("a") == "a") is False


@pytest.mark.parametrize("value", ["", " ", " a", "a\n", "\u00a0a", "a\t", "\udc80"], ids=repr)
def test_an_accident_of_copying_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(ValueError, match="a secret is") as caught:
        Secret(value)
    assert "'" not in str(caught.value)


def test_bytes_are_no_secret() -> None:
    with pytest.raises(TypeError, match="bytes"):
        Secret(b"a")  # type: ignore[arg-type] # the point
