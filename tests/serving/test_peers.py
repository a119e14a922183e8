"""Peers are told apart by their address, and none can take what others need."""

from __future__ import annotations

import pytest

from treeformer.serving.peers import Holding, Shares, is_local, peer_name


@pytest.mark.parametrize(
    "address", ["localhost", "127.0.0.1", "127.0.0.2", "127.255.0.9", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_an_address_of_this_machine_alone_is_local(address: str) -> None:
    assert is_local(address)


@pytest.mark.parametrize(
    "address", ["", "0.0.0.0", "::", "192.0.2.1", "128.0.0.1", "localhost.example", "127.0.0.1.example"]
)
def test_any_other_address_is_not(address: str) -> None:
    assert not is_local(address)


def test_addresses_of_one_home_are_one_peer() -> None:
    assert peer_name("2001:db8::1") == peer_name("2001:db8::ffff")
    assert peer_name("2001:db8::1") != peer_name("2001:db8:0:1::1")
    assert peer_name("192.0.2.1") != peer_name("192.0.2.2")


def test_a_peer_gets_no_more_than_its_share_and_all_no_more_than_there_is() -> None:
    shares = Shares(total=5, share=3)
    first, second = Holding(shares, "a"), Holding(shares, "b")
    assert [first.take() for _ in range(4)] == [True, True, True, False]
    assert [second.take() for _ in range(3)] == [True, True, False]
    first.give_back()
    first.give_back()
    assert shares.held == 2
    assert second.take()
