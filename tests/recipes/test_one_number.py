"""Each order has one number, as the recipes on the page give it: whatever region is lost in the middle of a request."""

import asyncio
import runpy
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import httpx
import pytest
from global_integers import GlobalIntegersError, Integers
from global_integers.minting.failover import order_of
from global_integers.testing import Fault, Stack

from tests.recipes.conftest import HANG, recipe

(_, FASTAPI), (_, DJANGO) = recipe("One number an order, whatever fails")


class Shop(Protocol):
    """A service that stores orders in a database."""

    def take(self, order: UUID) -> int | None:
        """Place an order, or repeat that. Return its number; None: it has none yet."""
        ...

    def number_the_rest(self) -> None:
        """Number the orders that have no number yet."""
        ...

    def stored(self, order: UUID) -> int | None:
        """Return an order's number in the database."""
        ...


class FastApiShop:
    """The service of the page, without a server."""

    def __init__(self, folder: Path) -> None:
        (folder / "orders.py").write_text(FASTAPI)
        self._module = runpy.run_path(str(folder / "orders.py"))
        self.number_the_rest = self._module["number_the_rest"]

    def take(self, order: UUID) -> int | None:
        async def put() -> httpx.Response:
            transport = httpx.ASGITransport(self._module["app"])
            async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as http:
                return await http.put(f"/orders/{order}", json={"item": "tea"})

        answer = asyncio.run(put())
        if answer.status_code == 503:
            assert answer.headers["retry-after"] == "5"
            return None
        return answer.raise_for_status().json()["number"]

    def stored(self, order: UUID) -> int | None:
        with self._module["Session"](self._module["engine"]) as session:
            return session.get(self._module["Order"], order).number

    def close(self) -> None:
        """Close the database."""
        self._module["engine"].dispose()


class DjangoShop:
    """A program that uses the page's model, with a view's body here."""

    def __init__(self, folder: Path) -> None:
        self._db: Any = import_module("django.db")
        conf: Any = import_module("django.conf")
        if not conf.settings.configured:
            (folder / "shop").mkdir()
            (folder / "shop" / "__init__.py").touch()
            (folder / "shop" / "models.py").write_text(DJANGO)
            sys.path.insert(0, str(folder))
            database: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "orders.sqlite3")}
            database["OPTIONS"] = {"timeout": HANG}
            conf.settings.configure(INSTALLED_APPS=["shop"], DATABASES={"default": database}, USE_TZ=True)
            django: Any = import_module("django")
            django.setup()
            with self._db.connection.schema_editor() as editor:
                editor.create_model(import_module("shop.models").Order)
        self._models: Any = import_module("shop.models")
        self._models.numbers = Integers.from_env(counter="orders", timeout=5)  # of this test's stack
        self.number_the_rest = self._models.number_the_rest

    def take(self, order: UUID) -> int | None:
        try:
            return self._models.Order.objects.get_or_create(pk=order, defaults={"item": "tea"})[0].numbered()
        except GlobalIntegersError:
            return None
        finally:
            self._db.connection.close()  # as Django does at a request's end

    def stored(self, order: UUID) -> int | None:
        return self._models.Order.objects.get(pk=order).number

    def close(self) -> None:
        """Close the database."""
        self._models.Order.objects.all().delete()
        self._db.connection.close()


@pytest.fixture(params=[FastApiShop, DjangoShop])
def shop(
    request: pytest.FixtureRequest,
    integers_stack: Stack,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Generator[Shop]:
    monkeypatch.setattr(Integers, "from_env", integers_stack.integers)
    folder = tmp_path_factory.mktemp("shop")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{folder / 'orders.sqlite3'}?timeout={HANG}")
    made = request.param(folder)
    yield made
    made.close()


@pytest.fixture
def order() -> UUID:
    return uuid4()


def region_of(stack: Stack, order: UUID) -> Any:
    """Return the region of an order's key."""
    first = order_of(str(order), stack.urls)[0]
    return next(region for region in stack.regions if region.name == first)


@pytest.mark.parametrize("fault", ["refused", "timeout", "response lost", "error"])
def test_an_order_outlives_its_keys_region(shop: Shop, integers_stack: Stack, order: UUID, fault: Fault) -> None:
    region = region_of(integers_stack, order)
    region.fail(fault)
    number = shop.take(order)
    assert number is not None
    region.recover()
    integers_stack.tick(60)

    assert [shop.take(order), shop.stored(order)] == [number] * 2


def test_the_first_number_that_is_stored_stays(shop: Shop, integers_stack: Stack, order: UUID) -> None:
    """A request has minted in the key's region, which is then lost. A repeated one is faster, and fails over."""
    region, minted = region_of(integers_stack, order), dict[str, int | None]()

    def meanwhile(*arguments: Any, **options: Any) -> int:
        monkeypatch.undo()
        minted["slow"] = integers_stack.integers(counter="orders").next(key=str(order))
        region.fail()
        minted["fast"] = shop.take(order)
        return minted["slow"] or 0

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Integers, "next", meanwhile)
        number = shop.take(order)

    assert minted["slow"] != minted["fast"] is not None
    assert [number, shop.take(order), shop.stored(order)] == [minted["fast"]] * 3


def test_without_any_region_an_order_is_stored(shop: Shop, integers_stack: Stack) -> None:
    orders = [uuid4() for _ in range(3)]
    for region in integers_stack.regions:
        region.fail()
    assert [shop.take(order) for order in orders] == [None] * 3
    assert [shop.stored(order) for order in orders] == [None] * 3
    for region in integers_stack.regions:
        region.recover()
    integers_stack.tick(60)
    shop.number_the_rest()

    numbers = [shop.stored(order) for order in orders]
    assert None not in numbers
    assert len({*numbers}) == 3
    assert [shop.take(order) for order in orders] == numbers


@pytest.mark.slow
def test_requests_that_are_repeated_at_once_get_one_number(shop: Shop, integers_stack: Stack, order: UUID) -> None:
    others = [uuid4() for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        orders = [other for each in others for other in (each, order)]
        numbers = list(zip(orders, pool.map(shop.take, orders), strict=True))

    assert {number for each, number in numbers if each == order} == {shop.stored(order)}
    assert len({number for _, number in numbers}) == 21
