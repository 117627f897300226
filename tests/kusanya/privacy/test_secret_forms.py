"""A secret that cannot be one is refused where it is read, without being shown."""

import os
from pathlib import Path

import pytest

from kusanya.errors import ConfigurationError
from kusanya.privacy import redact
from kusanya.profiles import load, parse_endpoint_secrets
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.wire import Mode

SLIPS = ("Gehe imnis", "Gehe\u200bimnis", "Gehe\u00a0imnis", "Geheimniß", "Gehe\timnis", "G", "Ge")


@pytest.mark.parametrize("slip", SLIPS, ids=ascii)
def test_a_signing_secret_that_signs_nothing_is_refused_at_the_start(slip: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_endpoint_secrets(f"shop=whsec_{slip}")
    assert "'shop'" in str(caught.value)
    assert "Geh" not in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        EndpointSecrets("shop", Mode.TEST, f"whsec_{slip}")
    assert "Geh" not in str(caught.value)


@pytest.mark.parametrize("slip", SLIPS, ids=ascii)
@pytest.mark.parametrize("variable", ["KUSANYA_API_KEY", "KUSANYA_DASHBOARD_TOKEN"])
def test_a_key_that_no_header_carries_is_refused_at_the_start(slip: str, variable: str) -> None:
    with pytest.raises(ConfigurationError, match=variable) as caught:
        load(environ={variable: slip, "KUSANYA_CONFIG": os.devnull})
    assert "Geh" not in str(caught.value)


@pytest.mark.parametrize("variable", ["KUSANYA_BASE_URL", "KUSANYA_DASHBOARD_URL"])
def test_a_service_address_with_credentials_is_refused_without_showing_them(variable: str) -> None:
    for address in ("https://u:Geheim@pay.example/v1", "https://Geheim@pay.example/v1"):
        with pytest.raises(ConfigurationError, match="holds credentials") as caught:
            load(environ={variable: address, "KUSANYA_CONFIG": os.devnull})
        assert "Geheim" not in str(caught.value)


def test_a_profile_shows_no_password_of_its_store() -> None:
    profile = load(
        environ={"KUSANYA_STORE": "postgresql://u:Geheim@h/d", "KUSANYA_CONFIG": os.devnull}
    )
    assert "Geheim" not in f"{profile!r} {profile} {profile.store} {profile.store!r}"
    assert profile.store.reveal() == "postgresql://u:Geheim@h/d"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_configuration_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigurationError, match="is no file"):
        load(environ={"KUSANYA_CONFIG": str(tmp_path / "config.toml")})


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_a_configuration_that_others_may_change_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(ConfigurationError, match="chmod go-w"):
        load(environ={"KUSANYA_CONFIG": str(path)})
    path.chmod(0o644)
    assert load(environ={"KUSANYA_CONFIG": str(path)}).name == "main"


def test_a_configuration_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(ConfigurationError, match="too large"):
        load(environ={"KUSANYA_CONFIG": str(path)})


@pytest.mark.parametrize(
    "said",
    [
        "Authorization: Basic dTpHZWhlaW0=",
        "authorization basic dTpHZWhlaW0",
        "cannot connect to postgresql://u:Geheim@db/kusanya",
        "cannot connect to postgresql://u:p/Geheim@db/kusanya now",
        "cannot connect to postgresql://u:p@Geheim@db/kusanya now",
        "at https://Geheim@pay.example/v1, https://u:Geheim@pay.example/v2",
        "host=db user=u password=Geheim",
        "postgresql://db/kusanya?sslpassword=Geheim&sslmode=require",
    ],
)
def test_a_message_of_any_library_is_logged_without_its_credentials(said: str) -> None:
    assert "Geheim" not in redact(said)
    assert "GehZ" not in redact(said)
    assert "dTpHZ" not in redact(said)
