"""The application, as Django's settings name it."""

from django.apps import AppConfig


class KusanyaConfig(AppConfig):
    """What orders came to, beside a shop's own tables."""

    name = "kusanya.integrations.django"
    label = "kusanya"
    verbose_name = "Kusanya"
