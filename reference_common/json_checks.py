"""Checks of the values of a JSON object; messages name the key by its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any


class ProtocolError(Exception):
    """A line that is not a valid request; `case_id` is the case that it names, if known."""

    def __init__(self, reason: str, case_id: str | None = None) -> None:
        super().__init__(reason)
        self.case_id = case_id


# A check takes a value and the path to it, and returns the value as the request holds it.
Check = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Shape:
    """The keys of an object and the class that holds them. An optional key may also be null."""

    make: Callable[..., Any]
    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise ProtocolError(f"{path}: expected an object, found {kind_of(value)}")
        prefix = f"{path}." if path else ""
        checks = {**self.required, **self.optional}
        for key in value:
            if key not in checks:
                known = ", ".join(checks) or "none"
                raise ProtocolError(f"{prefix}{key}: unknown key; known: {known}")
        for key in self.required:
            if key not in value:
                raise ProtocolError(f"{prefix}{key}: missing")
        given = {
            key: checks[key](item, prefix + key)
            for key, item in value.items()
            if item is not None or key in self.required
        }
        return self.make(**given)


def text(value: Any, path: str) -> str:
    """Expect a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ProtocolError(f"{path}: expected a string, found {kind_of(value)}")
    return value


def boolean(value: Any, path: str) -> bool:
    """Expect true or false."""
    if not isinstance(value, bool):
        raise ProtocolError(f"{path}: expected true or false, found {kind_of(value)}")
    return value


def json_object(value: Any, path: str) -> dict[str, Any]:
    """Expect an object of any keys."""
    if not isinstance(value, dict):
        raise ProtocolError(f"{path}: expected an object, found {kind_of(value)}")
    return value


def integer(low: int, high: int) -> Check:
    """Expect an integer of `low` … `high`."""

    def check(value: Any, path: str) -> int:
        # In Python, bool is a subclass of int.
        if not isinstance(value, int) or isinstance(value, bool):
            raise ProtocolError(f"{path}: expected an integer, found {kind_of(value)}")
        if not low <= value <= high:
            raise ProtocolError(f"{path}: expected {low} … {high}, found {value}")
        return value

    return check


def number(value: Any, path: str) -> float:
    """Expect a number; integers stay exact."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ProtocolError(f"{path}: expected a number, found {kind_of(value)}")
    return value


def one_of(*known: str) -> Check:
    """Expect one of these strings."""

    def check(value: Any, path: str) -> str:
        if text(value, path) not in known:
            raise ProtocolError(f"{path}: expected one of {', '.join(known)}, found {value}")
        return value

    return check


def each(check: Check) -> Check:
    """Expect an array whose every item passes the check; the request holds a tuple."""

    def check_all(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ProtocolError(f"{path}: expected an array, found {kind_of(value)}")
        return tuple(check(item, f"{path}[{i}]") for i, item in enumerate(value))

    return check_all


def by_key(check: Check) -> Check:
    """Expect an object, of any keys, whose every value passes the check."""

    def check_all(value: Any, path: str) -> dict[str, Any]:
        items = json_object(value, path).items()
        return {key: check(item, f"{path}.{key}") for key, item in items}

    return check_all


# What a field of such a type must be, if nothing else is said.
_BY_TYPE: Mapping[str, Check] = {
    "str": text,
    "bool": boolean,
    "int": integer(0, (1 << 63) - 1),
    "float": number,
    "Mapping[str, Any]": json_object,
}


def shape_of(make: type[Any], **checks: Check) -> Shape:
    """Return the shape of a dataclass, whose fields are the keys: optional with a default.

    A field's check is one of `checks`, or that of its type.
    """
    required, optional = {}, {}
    for key in fields(make):
        has_default = key.default is not MISSING or key.default_factory is not MISSING
        check = checks.get(key.name) or _BY_TYPE[str(key.type).removesuffix(" | None")]
        (optional if has_default else required)[key.name] = check
    return Shape(make, required, optional)


def kind_of(value: Any) -> str:
    """Return what a value is, for messages."""
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "an object", list: "an array", str: "a string", type(None): "null"}
    return names.get(type(value), "a number") if value != "" else "an empty string"
