"""A shop's tasks in Celery: what is paid is shipped by one that runs every few seconds."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from celery import Celery

from kusanya.outcomes import Consumer


def shop(
    broker: str, consumer: Consumer, connect: Callable[[], AbstractContextManager[Any]]
) -> Celery:
    """Return the application; start it with `celery worker` and one `celery beat`."""
    app = Celery("shop", broker=broker)

    # Two at once do no harm, and what one that is killed had begun the next one does.
    @app.task(name="shop.ship", shared=False, ignore_result=True)
    def ship() -> None:
        consumer.drain(connect)

    # One that waited for longer than the next one takes is not needed any more.
    every = {"task": ship.name, "schedule": 5.0, "options": {"expires": 5}}
    app.conf.beat_schedule = {"ship": every}
    return app
