"""Take what needs no conversion from the command line as it stands.

Typer converts every value, also a text that is wanted as a text and an option that was not given,
with pydantic: loading that takes longer than most commands do. Here such a value is taken as it is;
a number or a day goes Typer's own way, with Typer's own complaints. A path is one of this machine,
and an option that is given says something: a script makes an empty one of a variable that is not
set.
"""

from pathlib import Path
from typing import Any

import typer

from kusanya.say import Said
from kusanya_console.cli.options import local_path
from kusanya_console.output import USAGE, Refused


def taking_plain_values(command: Any, parent: typer.Context | None = None) -> Any:
    """Return `command`, a built one with all that are under it, made to take plain values as such.

    A version of Typer that converts in another way is left as it is.
    """
    # A command inherits from those above it by which names its help is asked for.
    context = typer.Context(command, parent, **command.context_settings)
    for under in getattr(command, "commands", {}).values():
        taking_plain_values(under, context)
    for parameter in command.get_params(context):
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None and descriptor.parameter_info.parser is None:
            parameter._runtime_param = _AsItStands(descriptor.annotation)  # noqa: SLF001 - no other door
    return command


class _AsItStands:
    """Typer's converter of one parameter, asked only for what is not yet what it should be."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return `value` where it is what is wanted, else what Typer makes of it."""
        several = param.multiple or param.nargs == -1
        if param.opts[0].startswith("-") and value != param.default:
            _refuse_empty(param.opts[0], value if several else (value,))
        if value is None:
            return () if several else None
        if (type(value) is self._wanted or isinstance(value, Path)) and not several:
            return value
        if self._wanted is Path and isinstance(value, str) and not several:
            return local_path(param.opts[0] if param.opts[0].startswith("-") else param.name, value)
        param._runtime_param = None  # noqa: SLF001 - as above: Typer builds its own at the next call
        try:
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        finally:
            param._runtime_param = self  # noqa: SLF001 - as above


def _refuse_empty(option: str, values: Any) -> None:
    """Raise Refused for an empty value, which would be taken for an option that was left out."""
    if any(isinstance(value, str) and not value.strip() for value in values or ()):
        said = Said("{option} is empty: give it a value, or leave it out")
        raise Refused(said.of(option=option), code=USAGE)
