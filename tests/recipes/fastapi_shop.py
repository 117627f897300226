"""A shop in FastAPI: it asks for money, receives what comes, and ships what is paid, once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from pydantic import BaseModel

from kusanya import AsyncClient, Store, orders, receiver
from kusanya.wire import Mode


class Checkout(BaseModel):
    """What the browser sends: the amount is the shop's own."""

    phone: str


def shop(store: Store, client: AsyncClient, secret: str, mode: Mode) -> FastAPI:
    """Return the application. What is paid is shipped by a consumer, in a program of its own."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.put("/orders/{reference}/payment")
    async def pay(reference: str, checkout: Checkout) -> dict[str, str]:
        # A click too many, or a second worker, says the same again: that is always right.
        order = await orders.pay_async(store, client, reference, amount=5000, phone=checkout.phone)
        words = order.customer.swahili.sentence
        return {"status": order.status, "say": words}

    @app.get("/orders/{reference}/payment")
    def look(reference: str) -> dict[str, str]:
        return {"status": orders.get(store, reference, mode=mode).status}

    # Register https://shop.example/webhooks/ with the slash at its end.
    app.mount("/webhooks", receiver.app(store, [secret], mode=mode))
    return app
