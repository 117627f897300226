"""Which service, which store and which secrets a command works with."""

from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.profiles.config_file import (
    config_path,
    data_folder,
    default_store,
    has_bell,
    interface_language,
    key_map,
    profile_names,
    theme_name,
)
from kusanya.profiles.loading import load, parse_endpoint_secrets
from kusanya.profiles.profile import APPLICATION, EndpointSecret, Profile
from kusanya.profiles.secret_files import find_secret

__all__ = [
    "APPLICATION",
    "DEFAULT_PROFILE",
    "EndpointSecret",
    "Profile",
    "config_path",
    "data_folder",
    "default_store",
    "find_secret",
    "has_bell",
    "interface_language",
    "key_map",
    "load",
    "parse_endpoint_secrets",
    "profile_names",
    "theme_name",
]
