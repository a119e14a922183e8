"""Peers, the addresses that requests come from, and what each may take of what all share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

_HOME = 64  # bits of an IPv6 address that one customer of a provider usually has


def peer_of(scope: Mapping[str, Any]) -> str:
    """The peer that sent a request, from its ASGI scope."""
    client = scope.get("client")
    return peer_name(client[0] if client else "")


def peer_name(address: str) -> str:
    """The name of the peer with an address: an IPv4 address, or the first 64 bits of an IPv6 address.

    >>> peer_name("192.0.2.7"), peer_name("::ffff:192.0.2.7"), peer_name("2001:db8::7")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, _HOME), strict=False))


def is_local(address: str) -> bool:
    """Whether an address or name is that of this machine alone: localhost, 127.0.0.0/8 or ::1."""
    try:
        parsed = ip_address(address.strip("[]"))
    except ValueError:
        return address == "localhost"
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return parsed.is_loopback


class Shares:
    """An amount that peers share: slots, or bytes.

    Args:
        total: what all peers together may hold.
        share: what one peer may hold.
    """

    def __init__(self, total: int, share: int) -> None:
        self.total = total
        self.share = share
        self.held = 0
        self._held_by: Counter[str] = Counter()

    def take(self, peer: str, amount: int = 1) -> bool:
        """Take an amount for a peer, if there is as much."""
        if self.held + amount > self.total or self._held_by[peer] + amount > self.share:
            return False
        self.held += amount
        self._held_by[peer] += amount
        return True

    def give_back(self, peer: str, amount: int = 1) -> None:
        """Give back what was taken."""
        self.held -= amount
        self._held_by[peer] -= amount
        if not self._held_by[peer]:
            del self._held_by[peer]


class Holding:
    """What one request holds of a share."""

    def __init__(self, shares: Shares, peer: str) -> None:
        self._shares = shares
        self._peer = peer
        self._amount = 0

    def take(self, amount: int = 1) -> bool:
        """Take more, if there is as much."""
        taken = self._shares.take(self._peer, amount)
        self._amount += amount if taken else 0
        return taken

    def give_back(self) -> None:
        """Give back all of it; once is enough, twice does no harm."""
        if self._amount:
            self._shares.give_back(self._peer, self._amount)
        self._amount = 0
