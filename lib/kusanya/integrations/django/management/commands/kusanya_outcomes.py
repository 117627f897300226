"""`manage.py kusanya_outcomes`: act on what orders came to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections, connection, transaction
from django.utils.module_loading import import_string

from kusanya.errors import KusanyaError
from kusanya.outcomes import Consumer


class Command(BaseCommand):
    """Runs a consumer in the default database, until SIGTERM."""

    help = "Act on what orders came to, in transactions of the default database, until SIGTERM."

    def add_arguments(self, parser: Any) -> None:
        """Say what the command takes."""
        parser.add_argument(
            "consumer", help="A consumer, or a function that makes one: shop.shipping.consumer."
        )
        parser.add_argument("--drain", action="store_true", help="Do what is due, and end.")

    def handle(self, *_: Any, consumer: str, drain: bool, **__: Any) -> None:
        """Run it. Raises CommandError for what is no consumer, and where it cannot go on."""
        try:
            found = import_string(consumer)
        except ImportError as error:
            raise CommandError(str(error)) from error
        made = found() if callable(found) else found
        if not isinstance(made, Consumer):
            raise CommandError(f"{consumer} is no consumer of outcomes, and makes none")
        try:
            if drain:
                self.stdout.write(f"{made.drain(_transaction)} outcomes done")
            else:
                made.run(_transaction)
        except KusanyaError as error:
            raise CommandError(str(error)) from error


@contextmanager
def _transaction() -> Iterator[Any]:
    """Open a transaction, on a new connection where the old one has gone."""
    close_old_connections()
    with transaction.atomic():
        yield connection
