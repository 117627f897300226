"""Run inside a network namespace: listen on internal addresses, deliver to all, count the hits.

Prints how many internal addresses were connected to and how often the public one was delivered to.
With the guard off everything is reachable, which shows that the canaries sing.
"""

import asyncio
import subprocess
import sys

from kusanya_service.delivery.address_policy import AddressPolicy
from kusanya_service.delivery.http_sender import HttpSender, SignedRequest
from kusanya_service.delivery.resolver import Resolver
from kusanya_service.storage.records import Endpoint

INTERNAL = [
    "10.0.0.9",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.9",
    "192.168.0.9",
    "198.18.0.9",
    "168.63.129.16",
    "64:ff9b::7f00:1",
    "fd00::1",
    "::1",
]
PUBLIC = "9.9.9.9"
SPELLINGS = ["127.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]"]


class _NoPolicy(AddressPolicy):
    """No border at all: the control."""

    def allows(self, address: object, port: int, mode: str) -> bool:
        return True


def prepare() -> None:
    commands = ["link set lo up"]
    for address in [*INTERNAL, PUBLIC]:
        if address not in {"127.0.0.1", "::1"}:
            # Unasked for, the kernel looks for a double first, and nobody can listen meanwhile.
            rest = "/128 dev lo nodad" if ":" in address else "/32 dev lo"
            commands.append(f"addr add {address}{rest}")
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)  # noqa: S607 - fixed words


async def main(guarded: bool) -> None:
    hits: list[str] = []

    async def canary(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hits.append(writer.get_extra_info("sockname")[0].removeprefix("::ffff:"))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    servers = [await asyncio.start_server(canary, address, 8080) for address in [*INTERNAL, PUBLIC]]
    resolver = Resolver()
    policy = AddressPolicy() if guarded else _NoPolicy()
    sender = HttpSender(policy=policy, resolve=resolver, signature_header="Service-Signature")
    hosts = [f"[{one}]" if ":" in one else one for one in [*INTERNAL, PUBLIC]] + SPELLINGS
    request = SignedRequest(body=b"{}", signed_at_ms=0, secrets=("whsec_xxxx",))
    for number, host in enumerate(hosts):
        endpoint = Endpoint(
            seq=number,
            id=str(number),
            mode="test",
            url=f"http://{host}:8080/",
            secret="whsec_xxxx",
            old_secret=None,
            old_secret_until=None,
            lit_at=None,
            disabled_at=None,
            created_at=0,
            deleted_at=None,
        )
        await sender.send(endpoint, request)
    await sender.close()
    resolver.close()
    for server in servers:
        server.close()
    internal = {one for one in hits if one != PUBLIC}
    sys.stdout.write(f"{len(internal)} {hits.count(PUBLIC)}\n")


if __name__ == "__main__":
    prepare()
    asyncio.run(main(sys.argv[1] == "True"))
