"""What a setting's type allows: one check for what is typed in Python and in a file."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fedadp.errors import SettingError, show

NUMBERS: dict[Any, Any] = {int: Integral, float: Real}  # NumPy's are numbers, too
WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


class Strict:
    """Settings whose types are checked as they are made: the base of every frozen dataclass here.

    >>> from fedadp import FedAdp
    >>> FedAdp(alpha="5")
    Traceback (most recent call last):
    fedadp.errors.SettingError: alpha: '5' is not possible; it takes a number
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own: Callable[[Any], None] | None = cls.__dict__.get("__post_init__")

        def __post_init__(self: Any) -> None:  # noqa: N807
            if is_dataclass(self):
                _check(self)
            if own is not None:
                own(self)

        if own is not None or not hasattr(cls, "__post_init__"):
            cls.__post_init__ = __post_init__  # type: ignore[attr-defined]


def _check(made: Any) -> None:
    hints = hints_of(type(made))
    for f in fields(made):
        if f.name in hints:
            value = getattr(made, f.name)
            taken = take(hints[f.name], value, f.name)
            if taken is not value:
                object.__setattr__(made, f.name, taken)


def hints_of(kind: Any) -> Mapping[str, Any]:
    """The types of a dataclass's fields; none where they cannot be told, as in a function."""
    try:
        return get_type_hints(kind)
    except NameError:
        return {}


def take(hint: Any, value: Any, field: str) -> Any:
    """The value as its type has it: 1 becomes 1.0 where a number is wanted, a list a tuple."""
    try:
        return _taken(hint, value)
    except (TypeError, OverflowError):
        problem = f"{show(value)} is not possible; it takes {spell(hint)}"
        raise SettingError(field, problem) from None


def _taken(hint: Any, value: Any) -> Any:
    base, args = get_origin(hint) or hint, get_args(hint)
    if base is Literal:
        _need(any(type(value) is type(arg) and value == arg for arg in args))
    elif base in (Union, types.UnionType):
        return _first(args, value)
    elif base in NUMBERS:  # true is never 1
        _need(isinstance(value, NUMBERS[base]) and not isinstance(value, bool))
        return base(value)
    elif base in (Sequence, tuple, list):
        _need(isinstance(value, Sequence) and not isinstance(value, str | bytes))
        return tuple(_taken(args[0] if args else Any, entry) for entry in value)
    elif base is Mapping or base is dict:
        _need(isinstance(value, Mapping) and all(isinstance(key, str) for key in value))
    elif isinstance(base, type) and base not in (object, Any):
        _need(isinstance(value, base))
    return value


def _first(hints: Sequence[Any], value: Any) -> Any:
    """As the first type that takes it; as a float only what is no whole number."""
    for hint in sorted(hints, key=lambda hint: hint is float):
        with suppress(TypeError):
            return _taken(hint, value)
    raise TypeError


def _need(holds: bool) -> None:
    if not holds:
        raise TypeError


def spell(hint: Any) -> str:
    """A type, as a person would say it."""
    if hint in WORDS:
        return WORDS[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, args))
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(spell(arg) for arg in args if arg is not type(None)))
    if origin in (tuple, list, Sequence):
        return "a list, each " + spell(args[0])
    base = origin or hint
    plain = isinstance(base, type) and base not in (object, Any) and not issubclass(base, Mapping)
    return f"a {base.__name__}" if plain else "a table"
