"""Everything that fedadp raises on purpose.

FedadpError
├── SettingError       a setting that is unknown, of the wrong type, or impossible
├── DataError          data that cannot be had, read, or cut up as asked
├── ModelError         a model that cannot be made, or cannot be trained
├── UpdateError        updates that no average may be taken of; `.nodes` says whose
├── StrategyError      a strategy that raised, or broke a promise of strategies
├── TrainingError      a node, or all of them, failed; says which node, round and step
│   ├── AbandonedError   too few nodes replied in time: this round does not count
│   ├── DivergedError    the numbers left what a float can hold; the model before is kept
│   └── QuorumError      so many rounds in a row were abandoned that the run ends
├── RunError           a run folder that cannot be used
├── DeploymentError    processes that do not stay up, or whose run was not completed
└── MissingExtraError  an optional dependency that is not installed

Each message is one sentence: where, what, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

LONGEST_REASON = 300


class FedadpError(Exception):
    """The root of the tree: `except FedadpError` catches whatever fedadp raises on purpose."""

    exit_code = 2  # of a command that it ends


class SettingError(FedadpError):
    """A setting that is unknown, of the wrong type, or impossible."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(printable(f"{field}: {problem}" if field else problem))
        self.field = field
        self.problem = problem

    def under(self, place: str) -> SettingError:
        """The same complaint, told from one level further out."""
        return SettingError(".".join(part for part in (place, self.field) if part), self.problem)


class DataError(FedadpError):
    """Data that cannot be had, read, or cut up as asked."""


class ModelError(FedadpError):
    """A model that cannot be made, or cannot be trained."""


class UpdateError(FedadpError):
    """Updates that no average may be taken of."""

    def __init__(self, message: str, nodes: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)


class StrategyError(FedadpError):
    """A strategy that raised, or broke a promise of strategies."""


class TrainingError(FedadpError):
    """A node, or all of them, failed."""


class AbandonedError(TrainingError):
    """Too few nodes replied in time: this round does not count."""

    def __init__(self, message: str, refused: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.refused = dict(refused or {})


class DivergedError(TrainingError):
    """The numbers left what a float can hold; the model before is kept."""

    exit_code = 4

    def __init__(self, message: str, number: int, rate: float | None = None) -> None:
        lower = "a lower learning rate" if rate is None else f"a learning rate below {rate:g}"
        super().__init__(
            f"{message}; the model of round {number - 1} is kept, and {lower}, in another folder "
            "or with --restart, may help"
        )
        self.message, self.number = message, number


class QuorumError(TrainingError):
    """So many rounds in a row were abandoned that the run ends."""

    exit_code = 3
    SIGN = "no quorum; "  # by which whoever reads a server's words knows it

    def __init__(self, message: str) -> None:
        super().__init__(self.SIGN + message.removeprefix(self.SIGN))


class RunError(FedadpError):
    """A run folder that cannot be used."""


class DeploymentError(FedadpError):
    """Processes that do not stay up, or whose run was not completed."""

    exit_code = 4


class MissingExtraError(FedadpError):
    """An optional dependency that is not installed."""


def require(holds: bool, field: str, value: object, wanted: str) -> None:
    """Complain about `field` unless `holds`."""
    if not holds:
        raise SettingError(field, f"{show(value)} is not possible; it takes {wanted}")


def show(value: object) -> str:
    """A value in a sentence, however long it is."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a number of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # such a number inside, or as deep as a well
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def reason(error: BaseException) -> str:
    """What somebody else's error says, on one line."""
    line = " ".join(str(error).split()) or type(error).__name__
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 3] + "..."


def own_mistake(error: BaseException) -> str:
    """Of an error that nobody foresaw."""
    return (
        f"a mistake of fedadp's own, {type(error).__name__}: {reason(error)}; please report it "
        "with what `fedadp --debug` shows"
    )


def printable(text: str) -> str:
    """A sentence on one line, without what a terminal would obey.

    >>> printable("a key of" + chr(10) + "two lines")
    'a key of?two lines'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


def nearest(word: str, known: Iterable[str]) -> str:
    """The way out of a misspelt name, such as "; did you mean 'alpha'?"."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
