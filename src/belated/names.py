"""Texts that name a base, an updater, a delay law or a world, each called a part in this module.

The command line, study files and Python accept the same texts:

    NAME                      a built-in part: "ucrl2", "active"
    NAME:OPTIONS              with options: "ucrl2:scale=0.1,ties=random", "lazy:10"
    MODULE:OBJECT             your own, imported: "my_bases:MyBase"
    MODULE:OBJECT:OPTIONS     with options: "my_bases:MyBase:scale=0.1"

OPTIONS are values separated by commas, each with the name of its option ("scale=0.1") or, in the
order of the parameters, without ("10"). A value is a number, true, false or text. OBJECT, which may
be dotted, is either the part itself, or a class or function that is called with the options and
returns the part. A built-in name takes precedence over a module of the same name. A class with the
attribute `takes` contains another part, named at the end after a colon: "matured:500:lazy:10".

This module imports no slow modules, to keep the command line fast.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from belated.check import did_you_mean, similar

T = TypeVar("T")

IMPORTED: Final = re.compile(r"([^\W\d][\w.]*):([^\W\d][\w.]*)(?::(.*))?", re.DOTALL)
"""Regular expression for "MODULE:OBJECT" and "MODULE:OBJECT:OPTIONS", with a group for each of the
three."""

POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
VARIADIC: Final = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


@dataclass(frozen=True)
class Named:
    """Parsed text that names a part: a base, an updater, a delay law or a world.

    The part itself has not been built yet.
    """

    name: str
    """Name in the text, without the options."""
    target: Any
    """Named object: the part itself, or a class or function that returns the part."""
    options: dict[str, Any]
    """Map from the name of each option in the text to its value."""


class Names(Generic[T]):
    """Parser of the texts that name one kind of part: bases, updaters, delay laws or worlds.

    Parameters
    ----------
    kind : str
        Kind of the part in error messages, such as "base".
    types : tuple of types
        Types of which the part must be an instance.
    expected : str
        Description of these types in error messages, such as "an Updater".
    built_in : mapping
        Map from the name of each built-in part to the class or function that returns the part.
    forms : iterable of str
        Forms of further texts, such as "chain-S", which the caller parses itself. Error messages
        list them.
    """

    def __init__(
        self,
        kind: str,
        types: tuple[Any, ...],
        expected: str,
        built_in: Mapping[str, Callable[..., T]],
        *,
        forms: Iterable[str] = (),
    ) -> None:
        self.kind = kind
        self._types = types
        self._expected = expected
        self._built_in = built_in
        self._forms = tuple(forms)

    def parse(self, text: str | T, options: Mapping[str, Any] | None = None) -> T:
        """Return the part that `text` names; an object that is not text is returned unchanged.

        `options` maps the names of further options, which are not in `text`, to their values.
        Raises ValueError if the name or an option is invalid, and TypeError if `text` is a class.
        """
        if isinstance(text, type):
            raise TypeError(
                f"{self.kind} must be an object, got the class {text.__name__}. "
                f"Did you mean {text.__name__}()?"
            )
        if not isinstance(text, str):
            return text
        named = self.find(text)
        return self.build(named, options)

    def build(self, named: Named, options: Mapping[str, Any] | None = None) -> T:
        """Return the part that `named`, a result of `find`, describes.

        `options` maps the names of further options to their values. Raises ValueError if an option
        is unknown, missing or given twice.
        """
        further = options or {}
        self._check_options(named.name, named.target, further)
        for option in further:
            if option in named.options:
                raise ValueError(f"option {option!r} of {self.kind} {named.name!r} is given twice.")
        part = named.target
        if not self._is_part(part):
            given = {**named.options, **further}
            missing = [option for option in self._required(part) if option not in given]
            if missing:
                raise ValueError(
                    f"{self.kind} {named.name!r} needs {', '.join(missing)}, as in "
                    f"'{named.name}:{','.join(missing).upper()}'."
                )
            try:
                part = named.target(**given)
            except TypeError as error:
                reason = str(error).rstrip(".")
                raise ValueError(f"{self.kind} {named.name!r} is invalid: {reason}.") from error
            if not self._is_part(part):
                raise ValueError(
                    f"{self.kind} {named.name!r} must give {self._expected}, got {part!r}."
                )
        return part

    def find(self, text: str) -> Named:
        """Parse `text`, and import the class or function that it names without calling it.

        Raises ValueError if there is no such name, or if an option is invalid.
        """
        name, rest = self.split(text)
        module, _, path = name.partition(":")
        if name in self._built_in:
            target = self._built_in[name]
        elif path:
            target = self._import(text, module, path)
        else:
            raise ValueError(self.unknown(text))
        options = {} if rest is None else self._parse_options(text, name, target, rest)
        self._check_options(name, target, options)
        return Named(name, target, options)

    def split(self, text: str) -> tuple[str, str | None]:
        """Return the name in `text`, and its options as text; None if no colon follows the name.

        The name of an imported part is "module:name". Nothing is imported or checked.
        """
        head, colon, rest = text.partition(":")
        imported = None if head in self._built_in else IMPORTED.fullmatch(text)
        if imported is not None:
            return f"{head}:{imported[2]}", imported[3]
        return head, rest if colon else None

    def unknown(self, text: str) -> str:
        """Return the error message for `text`, which names no part.

        The message lists all valid names, and suggests those that are similar to `text`.
        """
        head, colon, rest = text.partition(":")
        listed = [self._form(name) for name in self._built_in] + list(self._forms)
        near = [f"{name}{colon}{rest}" for name in similar(head, self._built_in)]
        near += [fill_numbers(form, text) for form in similar(text, self._forms)]
        return (
            f"{self.kind} must be one of {', '.join(listed)}, or 'module:name' for your own, "
            f"got {text!r}.{did_you_mean(near)}"
        )

    def _form(self, name: str) -> str:
        """Return the built-in `name`, followed by the names of its required options in capitals."""
        target = self._built_in[name]
        needed = [option.upper() for option in self._required(target)]
        return ":".join([name, *getattr(target, "takes", [",".join(needed)] if needed else [])])

    def _is_part(self, target: Any) -> bool:
        return isinstance(target, self._types) and not isinstance(target, type)

    def _parameters(self, target: Any) -> list[inspect.Parameter]:
        """Return the parameters of `target`; an empty list if it is a part or has no signature."""
        try:
            return [] if self._is_part(target) else [*inspect.signature(target).parameters.values()]
        except (TypeError, ValueError):
            return []

    def _required(self, target: Any) -> list[str]:
        """Return the names of the parameters of `target` that have no default."""
        parameters = [p for p in self._parameters(target) if p.kind not in VARIADIC]
        return [p.name for p in parameters if p.default is inspect.Parameter.empty]

    def _listed(self, target: Any) -> str:
        names = [p.name for p in self._parameters(target) if p.kind is not p.VAR_KEYWORD]
        if self._is_part(target):
            return "; it is an object, and takes no options"
        return f"; its options are {', '.join(names)}" if names else "; it has no options"

    def _check_options(self, name: str, target: Any, options: Mapping[str, Any]) -> None:
        """Raise ValueError if `target` has no parameter for one of `options`.

        `target` is the class or function that returns a part, or the part itself, which has no
        parameters. `options` maps the names of options to their values. `name` is the name of the
        part in the error message.
        """
        parameters = self._parameters(target)
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return
        known = [p.name for p in parameters]
        for option in options:
            if option not in known:
                raise ValueError(
                    f"{self.kind} {name!r} has no option {option!r}{self._listed(target)}."
                    f"{did_you_mean(similar(option, known))}"
                )

    def _parse_options(self, text: str, name: str, target: Any, listed: str) -> dict[str, Any]:
        """Return a dict from the names of the options in `text` to their values.

        `listed` is the end of `text`, after the `name` of the class or function `target`. Values
        without a name belong to the parameters of `target`, in order.
        """
        options: dict[str, Any] = {}
        positional = [p.name for p in self._parameters(target) if p.kind in POSITIONAL]
        unused = list(positional)
        if hasattr(target, "takes"):
            listed, colon, inner = listed.partition(":")
            if colon:
                options[unused.pop(0)] = inner
        any_named = False
        for item in listed.split(","):
            option, equals, value = (part.strip() for part in item.partition("="))
            if not option or (equals and not value):
                raise ValueError(
                    f"options of {self.kind} {text!r} must be values or 'name=value', separated by "
                    f"commas, got {item!r}."
                )
            any_named |= bool(equals)
            if not equals and any_named:
                raise ValueError(
                    f"values without a name must come first in {self.kind} {text!r}, got {item!r} "
                    "after one with a name."
                )
            if not equals and not unused:
                takes = f"at most {len(positional)}" if positional else "no"
                raise ValueError(
                    f"{self.kind} {name!r} takes {takes} values without a name, got {text!r}"
                    f"{self._listed(target)}."
                )
            if not equals:
                option, value = unused.pop(0), option
            if option in options:
                raise ValueError(f"option {option!r} is given twice in {self.kind} {text!r}.")
            options[option] = parse_value(value)
        return options

    def _import(self, text: str, module: str, path: str) -> Any:
        """Return the object `path`, a dotted name, of the module called `module`.

        Raises ValueError if the module or the object does not exist, or if the object is neither a
        part nor callable. The message contains `text`.
        """
        failed = f"{self.kind} {text!r} cannot be imported"
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise ValueError(f"{failed}: module {module!r} needs {error.name!r}.") from error
            head, _, rest = text.partition(":")
            near = did_you_mean(f"{name}:{rest}" for name in similar(head, self._built_in))
            raise ValueError(f"{failed}: there is no module {error.name!r}.{near}") from None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{failed}: module {module!r} fails with {reason}.") from error
        for part in path.split("."):
            if not hasattr(found, part):
                near = did_you_mean(similar(part, [n for n in dir(found) if n[0] != "_"]))
                where = f"module {module!r}" if inspect.ismodule(found) else repr(found)
                raise ValueError(f"{failed}: {where} has no {part!r}.{near}")
            found = getattr(found, part)
        if not (callable(found) or self._is_part(found)):
            raise ValueError(
                f"{self.kind} {text!r} must be {self._expected}, or a class or function that "
                f"returns one, got {found!r}."
            )
        return found


def parse_value(text: str) -> Any:
    """Return the number or boolean that `text` represents, or `text` if it represents neither.

    >>> parse_value("3"), parse_value("1e-3"), parse_value("true"), parse_value("two_term")
    (3, 0.001, True, 'two_term')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def fill_numbers(form: str, text: str) -> str:
    """Return `form` with the numbers in `text` in place of its words in capitals.

    An optional part of the form, in brackets, is omitted. The form is returned unchanged if the
    number of its words in capitals differs from that of the numbers, or if it contains a colon.

    >>> fill_numbers("garnet-S-A-B[-SEED]", "garnett-5-2-3"), fill_numbers("chain-S", "chian")
    ('garnet-5-2-3', 'chain-S')
    """
    numbers = re.findall("[0-9]+", text)
    needed = re.sub(r"\[.*?\]", "", form)
    if ":" in form or len(re.findall("[A-Z]+", needed)) != len(numbers):
        return form
    return re.sub("[A-Z]+", lambda _: numbers.pop(0), needed)
