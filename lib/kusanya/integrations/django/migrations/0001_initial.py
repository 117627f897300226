"""Makes the table `kusanya_done`, with the SQL that `kusanya outcomes ddl` prints."""

from typing import Any

from django.db import migrations

from kusanya.outcomes import ddl


def make(_apps: Any, editor: Any) -> None:
    """Make it, unless it is there."""
    editor.execute(ddl(editor.connection.vendor))


def drop(_apps: Any, editor: Any) -> None:
    """Drop it: what was done is known to nobody then."""
    editor.execute("DROP TABLE kusanya_done")


class Migration(migrations.Migration):
    """The first one."""

    operations = (migrations.RunPython(make, drop),)
