"""A shop in Flask: it asks for money, receives what comes, and ships what is paid, once."""

from flask import Flask, request

from kusanya import Client, Store, orders, receiver
from kusanya.wire import Mode


def shop(store: Store, client: Client, secret: str, mode: Mode) -> Flask:
    """Return the application. What is paid is shipped by a consumer, in a program of its own."""
    app = Flask("shop")

    @app.put("/orders/<reference>/payment")
    def pay(reference: str) -> dict[str, str]:
        phone = request.get_json()["phone"]
        # A click too many, or a second worker, says the same again: that is always right.
        order = orders.pay(store, client, reference, amount=5000, phone=phone)
        words = order.customer.swahili.sentence
        return {"status": order.status, "say": words}

    @app.get("/orders/<reference>/payment")
    def look(reference: str) -> dict[str, str]:
        return {"status": orders.get(store, reference, mode=mode).status}

    @app.post("/webhooks/")
    def webhook() -> tuple[str, int]:
        # The raw body: the signature is over its exact bytes.
        status, text = receiver.handle(
            store, [secret], request.get_data(), request.headers, mode=mode
        )
        return text, status

    return app
