"""A phone: its Wi-Fi and its log-in, which the apps on it need."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused


class PhoneSettings(NamedTuple):
    """What every app sees of the phone. The PIN is never shown."""

    wifi: bool = False
    logged_in: bool = False
    pin: str = "0000"


class OnPhone(Protocol):
    """The state of an app: a named tuple with the phone's settings."""

    @property
    def phone(self) -> PhoneSettings:
        """The phone's settings."""

    def _replace(self, *args: Any, **kwargs: Any) -> Self:
        """Return the state with other fields."""


P = TypeVar("P", bound=OnPhone)


class PhoneState(NamedTuple):
    """A phone without apps."""

    phone: PhoneSettings = PhoneSettings()


class PhoneFunctions(FunctionWorld[P]):
    """Five functions that the phone and every app on it have."""

    inherits = ("Phone",)

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> P:
        """Return the state at the start. A configuration may have the phone's keys among the app's."""
        settings = PhoneSettings(**{key: config[key] for key in PhoneSettings._fields if key in config})
        return super().load(config, long_context=long_context)._replace(phone=settings)

    def switch_wifi_on(self, state: P) -> After[P]:
        """Switch Wi-Fi on."""
        return state._replace(phone=state.phone._replace(wifi=True)), {"wifi": True}

    def switch_wifi_off(self, state: P) -> After[P]:
        """Switch Wi-Fi off."""
        return state._replace(phone=state.phone._replace(wifi=False)), {"wifi": False}

    def log_in_phone(self, state: P, pin: str) -> After[P]:
        """Log in to the phone."""
        if pin != state.phone.pin:
            raise Refused("The PIN is wrong.")
        return state._replace(phone=state.phone._replace(logged_in=True)), {"logged_in": True}

    def log_out_phone(self, state: P) -> After[P]:
        """Log out of the phone."""
        return state._replace(phone=state.phone._replace(logged_in=False)), {"logged_in": False}

    def check_phone(self, state: P) -> After[P]:
        """Tell how the phone is set."""
        return state, shown_settings(state)


class PhoneWorld(PhoneFunctions[PhoneState]):
    """The phone by itself."""

    name = "Phone"
    state = PhoneState

    def public(self, state: PhoneState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return shown_settings(state)


def shown_settings(state: OnPhone) -> dict[str, Any]:
    """Return the settings that are compared, and that the user sees."""
    return {"wifi": state.phone.wifi, "logged_in": state.phone.logged_in}


def require_wifi(state: OnPhone) -> None:
    """Refuse a call while Wi-Fi is off."""
    if not state.phone.wifi:
        raise Refused("Wi-Fi is off. Switch it on first.")


def require_log_in(state: OnPhone) -> None:
    """Refuse a call while nobody is logged in to the phone."""
    if not state.phone.logged_in:
        raise Refused("The phone is not logged in. Log in with the PIN first.")


def as_rows(rows: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """Return records as dictionaries, as a checker compares them."""
    return tuple(row._asdict() for row in rows)
