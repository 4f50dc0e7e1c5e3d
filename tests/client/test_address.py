"""One address is enough: the client learns its regions there and asks them by name. Names lead to a real deployment."""

import asyncio
import logging
import time

import pytest
from global_integers import AsyncIntegers, FailedOver, Integers, Unavailable
from global_integers import address as address_module
from global_integers.address import Address
from global_integers.rendezvous import order_of

from tests.client.names import ADDRESS, HOST, Names
from tests.client.ways import Way

Ways = dict[str, Way]
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]


@pytest.fixture
def names(ways: Ways) -> Names:
    return Names(ways)


@pytest.mark.server
def test_the_regions_are_read_once_and_asked_by_name(names: Names, ways: Ways) -> None:
    with Integers(ADDRESS, http=names.client) as integers:
        assert list(integers.options.urls) == []
        minted = [integers.next() for _ in range(3)]

        assert minted == sorted(minted)
        assert list(integers.options.urls) == REGIONS
        assert names.paths(HOST) == ["/-/status"]
        assert len(names.paths(f"us-east-1.{HOST}")) == 3, "the nearest one"
        assert set(integers.health()) == set(REGIONS)


@pytest.mark.server
def test_a_key_stays_with_its_region_in_every_process(names: Names, ways: Ways) -> None:
    ways_asked: set[str] = set()
    for near in REGIONS:
        names.hosts[HOST] = ways[near].url
        names.asked.clear()
        with Integers(ADDRESS, http=names.client) as integers:
            integers.next(key="cart-99")
        ways_asked |= {host for host, path in names.asked if path.startswith("/?")}

    assert ways_asked == {f"{order_of('cart-99', REGIONS)[0]}.{HOST}"}


@pytest.mark.server
def test_a_region_that_fails_is_not_noticed_and_the_address_is_the_last_resort(names: Names, ways: Ways) -> None:
    seen: list[object] = []
    with Integers(ADDRESS, http=names.client, observer=seen.append) as integers:
        integers.next()
        ways["us-east-1"].fault = "cut"
        integers.next()
        for region in REGIONS:
            names.hosts.pop(f"{region}.{HOST}")
        names.hosts[HOST] = ways["eu-west-1"].url

        assert integers.next() % 3 == 2
        assert [event.following for event in seen if isinstance(event, FailedOver)][-1] == HOST


@pytest.mark.server
def test_an_address_that_is_down_is_one_clear_error_and_asked_again(names: Names) -> None:
    target = names.hosts.pop(HOST)
    with Integers(ADDRESS, http=names.client, timeout=0.3) as integers:
        with pytest.raises(Unavailable, match=f"{ADDRESS} doesn't say which regions it has") as failed:
            integers.next()
        assert "Name or service not known" in failed.value.reasons[HOST]
        with pytest.raises(Unavailable):
            integers.next(key="k")
        names.hosts[HOST] = target
    with Integers(ADDRESS, http=names.client) as integers:
        assert integers.next(key="k") == integers.next(key="k")


@pytest.mark.server
def test_after_a_region_has_left_the_regions_are_read_again(names: Names, ways: Ways) -> None:
    with Integers(ADDRESS, http=names.client) as integers:
        integers.next()
        ways["us-east-1"].fault = "410"
        integers.next()
        integers.next()

        assert names.paths(HOST) == ["/-/status", "/-/status"]


@pytest.mark.server
def test_a_counter_that_does_not_exist_yet_hides_no_region(names: Names) -> None:
    with Integers(ADDRESS, counter="not-there", http=names.client, timeout=5) as integers:
        assert integers["integers"].next()
        assert set(integers.options.urls) == set(REGIONS)

    assert names.paths(HOST) == ["/-/status?counter=not-there", "/-/status"]


@pytest.mark.server
def test_while_the_address_is_down_known_regions_go_on(
    names: Names, ways: Ways, caplog: pytest.LogCaptureFixture
) -> None:
    with Integers(ADDRESS, http=names.client, attempt_timeout=0.5) as integers:
        integers.next()
        del names.hosts[HOST]
        ways["us-east-1"].fault = "410"
        integers.next()
        with caplog.at_level(logging.WARNING):
            assert integers.next()

    assert "its regions stay us-east-1, eu-west-1, ap-southeast-2" in caplog.text


@pytest.mark.server
def test_the_regions_are_read_again_now_and_then(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    with Integers(ADDRESS, http=names.client) as integers:
        integers.next()
        monkeypatch.setattr(address_module, "REFRESH", 0.0)
        integers.next()
        monkeypatch.setattr(address_module, "REFRESH", 300.0)
        deadline = time.monotonic() + 5
        while len(names.paths(HOST)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)

        assert names.paths(HOST) == ["/-/status", "/-/status"]


@pytest.mark.server
def test_tasks_do_the_same(names: Names, ways: Ways) -> None:
    async def mint() -> tuple[int, int, int]:
        async with AsyncIntegers(ADDRESS, http=names.async_client, lease=10) as integers:
            assert set(await integers.health()) == set(REGIONS)
            first = await integers.next()
            return first, await integers.next(key="k"), await integers.next(key="k")

    first, keyed, again = asyncio.run(mint())

    assert first > 0
    assert keyed == again
    assert names.paths(HOST) == ["/-/status"]


@pytest.mark.server
def test_an_address_on_this_machine_is_itself_the_only_region(direct: dict[str, str], ways: Ways) -> None:
    way = ways["us-east-1"]
    with Integers(way.url, counter="orders") as integers:
        assert integers.next() < integers.next()
        assert integers.next(key="local") == integers.next(key="local")

    assert {path for _, path in way.requests} == {"/orders?count=1"}


@pytest.mark.parametrize(
    ("url", "region", "expected"),
    [
        ("https://integers.example.com", "eu-west-1", "https://eu-west-1.integers.example.com/"),
        ("https://Integers.Example.com/", "eu-west-1", "https://eu-west-1.integers.example.com/"),
        ("https://i.example.com:8443/x/", "us-gov-west-1", "https://us-gov-west-1.i.example.com:8443/x/"),
        ("https://i.example.com/", "i.example.com", "https://i.example.com/"),
        ("http://127.0.0.1:4566/", "127.0.0.1:4566", "http://127.0.0.1:4566/"),
        ("http://[::1]:4566", "[::1]:4566", "http://[::1]:4566/"),
    ],
)
def test_each_region_has_a_name_below_the_addresss(url: str, region: str, expected: str) -> None:
    assert Address(url, None)[region] == expected


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://a.localhost:8/", "https://[::1]/"])
def test_this_machine_has_no_names_for_regions(url: str) -> None:
    found = Address(url, None)

    assert list(found) == [found.name]
    assert not found.must_be_read


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://abc.lambda-url.eu-west-1.on.aws/", "one region's URL"),
        ("https://abc.execute-api.eu-west-1.amazonaws.com/", "one region's URL"),
        ("integers.example.com", "should look like"),
        ("ftp://integers.example.com/", "should look like"),
        ("https://integers.example.com/?a=b", "should look like"),
        ("https://user:secret@integers.example.com/", "should look like"),
        ("https://a..b/", "is not a URL"),
        ("", "should look like"),
    ],
)
def test_a_wrong_address_is_refused(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Integers(url)


@pytest.mark.parametrize("name", ["evil.com/", "..", "", "EU-WEST-1", "eu-west-1.evil.com"])
def test_a_name_that_is_no_regions_makes_no_host(name: str) -> None:
    with pytest.raises(KeyError):
        Address(ADDRESS, None)[name]
