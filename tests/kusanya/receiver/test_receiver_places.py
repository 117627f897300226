"""Who holds a connection, and who gives way."""

from typing import Any

import pytest

from kusanya.errors import ConfigurationError
from kusanya.platform.http_limits.places import ConnectionLimits, Places


def test_of_one_address_the_longest_waiting_gives_way_to_one_too_many() -> None:
    places = Places[str](ConnectionLimits(per_peer=2))
    assert [places.enter(name, "203.0.113.7") for name in "abcd"] == [None, None, "a", "b"]
    assert places.enter("other", "203.0.113.8") is None


def test_who_was_answered_before_gives_way_after_those_who_never_were() -> None:
    places = Places[str](ConnectionLimits(connections=3))
    for name in ("kept", "new", "busy"):
        places.enter(name, "203.0.113.7")
    for name in ("kept", "busy"):
        places.answer(name)
    places.wait("kept")
    assert places.enter("d", "203.0.113.8") == "new"
    places.answer("d")
    assert places.enter("e", "203.0.113.8") == "kept"
    places.answer("e")
    # All three are being answered: there is no place until one of them is done.
    assert places.enter("f", "203.0.113.8") == "f"
    places.wait("busy")
    assert places.enter("g", "203.0.113.8") == "busy"


def test_a_place_that_was_left_is_free_again() -> None:
    places = Places[str](ConnectionLimits(connections=1, per_peer=1))
    for name in "abc":
        assert places.enter(name, "203.0.113.7") is None
        places.answer(name)
        places.leave(name)
        places.leave(name)
        places.wait(name)
    assert places.enter("d", "203.0.113.7") is None


@pytest.mark.parametrize(
    ("peer", "is_exempt"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::7", True),
        ("11.1.2.3", False),
        ("fe00::7", False),
        ("a socket of this machine", False),
        ("", False),
    ],
)
def test_loopback_and_trusted_proxies_have_no_bound_of_their_own(
    peer: str, is_exempt: bool
) -> None:
    limits = ConnectionLimits(per_peer=1, trusted_proxies=("10.0.0.0/8", "fd00::/8"))
    places = Places[str](limits)
    assert places.enter("a", peer) is None
    assert places.enter("b", peer) == (None if is_exempt else "a")


def test_limits_that_let_nobody_in_and_networks_that_are_none_are_refused() -> None:
    for limit in ("connections", "per_peer", "request_s", "header_s"):
        nothing: dict[str, Any] = {limit: 0}
        with pytest.raises(ConfigurationError, match="above zero"):
            ConnectionLimits(**nothing)
    for network in ("10.0.0.1/8", "proxy.example", ""):
        with pytest.raises(ConfigurationError, match=r"10\.0\.0\.0/8"):
            ConnectionLimits(trusted_proxies=(network,))
