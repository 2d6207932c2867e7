"""An app for takeaway food: kitchens, their dishes, and orders that are paid from what is on the account."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, Refused, known, replaced
from iad_envs.toolcalls.worlds.phone import (
    PhoneFunctions,
    PhoneSettings,
    as_rows,
    require_wifi,
    shown_settings,
)


class AppAccount(NamedTuple):
    """Who has an account, and what is on it."""

    user_name: str
    password: str
    balance: float = 0.0


class TakeawayKitchen(NamedTuple):
    """A kitchen that delivers."""

    kitchen_id: str
    name: str
    cuisine: str
    minutes: int


class TakeawayDish(NamedTuple):
    """What a kitchen cooks."""

    dish_id: str
    kitchen_id: str
    name: str
    price: float


class TakeawayOrder(NamedTuple):
    """An order; it is `cooking` or `cancelled`."""

    order_id: str
    user_name: str
    dish_id: str
    portions: int
    price: float
    note: str = ""
    status: str = "cooking"


class TakeawayState(NamedTuple):
    """What the app knows. Nobody is signed in where the user name is empty."""

    phone: PhoneSettings = PhoneSettings()
    signed_in: str = ""
    next_number: int = 1
    accounts: tuple[AppAccount, ...] = ()
    kitchens: tuple[TakeawayKitchen, ...] = ()
    dishes: tuple[TakeawayDish, ...] = ()
    orders: tuple[TakeawayOrder, ...] = ()


class TakeawayWorld(PhoneFunctions[TakeawayState]):
    """Six functions of the app, besides those of the phone."""

    name = "Takeaway"
    state = TakeawayState
    lasting = frozenset(("order_dish", "cancel_dish", "put_money"))

    def public(self, state: TakeawayState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        balances = {one.user_name: one.balance for one in state.accounts}
        shown = {"signed_in": state.signed_in, "balances": balances, "orders": as_rows(state.orders)}
        return {**shown_settings(state), **shown}

    def sign_in_takeaway(self, state: TakeawayState, user_name: str, password: str) -> After[TakeawayState]:
        """Sign in."""
        require_wifi(state)
        one = known(state.accounts, user_name, "account")
        if one.password != password:
            raise Refused("The password is wrong.")
        return state._replace(signed_in=user_name), {"user_name": user_name, "balance": one.balance}

    def find_kitchens(self, state: TakeawayState, cuisine: str) -> After[TakeawayState]:
        """Find kitchens."""
        require_wifi(state)
        rows = [one._asdict() for one in state.kitchens if one.cuisine.lower() == cuisine.strip().lower()]
        if not rows:
            raise Refused(f"No kitchen has {cuisine!r} food.")
        return state, {"kitchens": rows}

    def list_dishes(self, state: TakeawayState, kitchen_id: str) -> After[TakeawayState]:
        """List dishes."""
        require_wifi(state)
        known(state.kitchens, kitchen_id, "kitchen")
        rows = [one for one in state.dishes if one.kitchen_id == kitchen_id]
        return state, {"dishes": [{key: getattr(one, key) for key in ("dish_id", "name", "price")} for one in rows]}

    def order_dish(self, state: TakeawayState, dish_id: str, portions: int = 1, note: str = "") -> After[TakeawayState]:
        """Order a dish."""
        account, dish = _account(state), known(state.dishes, dish_id, "dish")
        if not 1 <= portions <= 20:
            raise Refused(f"portions must be from 1 to 20, got {portions}.")
        price = round(portions * dish.price, 2)
        if account.balance < price:
            raise Refused(f"This costs {price:.2f}, but the account has {account.balance:.2f}. Put money on it first.")
        new = TakeawayOrder(f"OD-{state.next_number}", account.user_name, dish_id, portions, price, note)
        left = account._replace(balance=round(account.balance - price, 2))
        after = state._replace(
            next_number=state.next_number + 1, accounts=replaced(state.accounts, left), orders=(*state.orders, new)
        )
        return after, {"order_id": new.order_id, "price": price, "balance": left.balance}

    def cancel_dish(self, state: TakeawayState, order_id: str) -> After[TakeawayState]:
        """Cancel an order."""
        account, order = _account(state), known(state.orders, order_id, "order")
        if order.user_name != account.user_name or order.status != "cooking":
            raise Refused(f"{order_id} is no order of {account.user_name} that is cooking.")
        paid = account._replace(balance=round(account.balance + order.price, 2))
        after = state._replace(
            accounts=replaced(state.accounts, paid),
            orders=replaced(state.orders, order._replace(status="cancelled")),
        )
        return after, {"order_id": order_id, "balance": paid.balance}

    def put_money(self, state: TakeawayState, amount: float) -> After[TakeawayState]:
        """Put money on the account."""
        account = _account(state)
        if not 0 < amount <= 200:
            raise Refused(f"amount must be more than 0 and at most 200, got {amount}.")
        more = account._replace(balance=round(account.balance + amount, 2))
        return state._replace(accounts=replaced(state.accounts, more)), {"balance": more.balance}


def _account(state: TakeawayState) -> AppAccount:
    """Return the account that is signed in."""
    require_wifi(state)
    if not state.signed_in:
        raise Refused("Nobody is signed in at the takeaway. Sign in first.")
    return known(state.accounts, state.signed_in, "account")
