"""A shop in Django: it asks for money, receives what comes, and ships what is paid, once.

settings.py: "kusanya.integrations.django" in INSTALLED_APPS. Then `manage.py migrate`, once
`kusanya outcomes add shipping --begin now`, and beside the web server, as often as one likes,
`manage.py kusanya_outcomes shop.consumer`.
"""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from kusanya import Client, Store, orders, receiver
from kusanya.wire import Mode


def urls(store: Store, client: Client, secret: str, mode: Mode) -> list[Any]:
    """Return the addresses of the shop."""

    @csrf_exempt  # for this test alone: a browser sends Django's token
    def payment(request: HttpRequest, reference: str) -> HttpResponse:
        if request.method != "PUT":
            return JsonResponse({"status": orders.get(store, reference, mode=mode).status})
        phone = json.loads(request.body)["phone"]
        # A click too many, or a second worker, says the same again: that is always right.
        order = orders.pay(store, client, reference, amount=5000, phone=phone)
        words = order.customer.swahili.sentence
        return JsonResponse({"status": order.status, "say": words})

    @csrf_exempt  # the signature says who sent it
    def webhook(request: HttpRequest) -> HttpResponse:
        # The raw body: the signature is over its exact bytes.
        status, text = receiver.handle(store, [secret], request.body, request.headers, mode=mode)
        return HttpResponse(text, status=status)

    return [path("orders/<str:reference>/payment", payment), path("webhooks/", webhook)]
