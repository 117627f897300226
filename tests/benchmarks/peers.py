"""The peers as small servers: `python peers.py NAME PORT [FILE]`."""

import sys

import uvicorn


def bare() -> object:
    """Return a bare Starlette application: one POST and one GET route that keep nothing."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def post(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse({"ok": True})

    async def get(_request: Request) -> JSONResponse:
        return JSONResponse({"id": "col_1", "status": "created", "amount": 5000})

    return Starlette(
        routes=[
            Route("/{rest:path}", post, methods=["POST"]),
            Route("/{rest:path}", get, methods=["GET"]),
        ]
    )


async def asgi(scope: dict, receive: object, send: object) -> None:
    """Answer every request with 200 once its body has come: the limit of an ASGI route."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body", "body": b""})


def common(file: str) -> object:
    """Return the common design: FastAPI, stripe's verifier, one SQLite commit per request."""
    import sqlite3

    import stripe
    from fastapi import FastAPI, Request, Response

    application = FastAPI()
    store = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE IF NOT EXISTS delivery (id TEXT, type TEXT, body BLOB)")

    @application.post("/webhooks")
    async def webhook(request: Request) -> Response:
        body = await request.body()
        header = request.headers["service-signature"]
        event = stripe.Webhook.construct_event(body, header, "whsec_bench", 10**10)
        store.execute("INSERT INTO delivery VALUES (?, ?, ?)", (event.id, event.type, body))
        return Response()

    return application


if __name__ == "__main__":
    name, port, *rest = sys.argv[1:]
    chosen = {"bare": bare, "asgi": lambda: asgi, "common": lambda: common(*rest)}[name]()
    uvicorn.run(chosen, host="127.0.0.1", port=int(port), log_level="error", access_log=False)
