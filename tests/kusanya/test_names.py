"""What `import kusanya` promises: each name works without a further import, and no other passes.

The ignores below are checked too: the type checker complains of one that is not needed.
"""

import subprocess
import sys

import pytest

import kusanya
import kusanya.client
import kusanya.watch
import kusanya_books


def test_every_promised_name_works_after_one_import() -> None:
    # A process for each group of names would prove no more: each access loads what it names.
    script = (
        "import kusanya\n"
        "for name in kusanya.__all__: getattr(kusanya, name)\n"
        "kusanya.intents.create_safely, kusanya.errors.KusanyaError, kusanya.wire.Mode\n"
        "kusanya.watch.poll_open, kusanya.domain.limits, kusanya.privacy.secret\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_rooms_of_the_package_are_typed_as_what_they_are() -> None:
    # Types alone: with these names as Any, `int(...)` of a function would pass the checker.
    with pytest.raises(TypeError):
        int(kusanya.intents.create_safely)  # type: ignore[call-overload] # that is the test


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        kusanya.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya.client.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya.watch.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya_books.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
