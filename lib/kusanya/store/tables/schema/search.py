"""The indexes of texts, which each engine has in its own kind."""

from typing import Final

# Pieces of three letters of each reference and description, under the place of the fact that
# brought it. Each engine has its own kind of index for that, both without extensions.
PIECES: Final = {
    "sqlite": (
        """CREATE VIRTUAL TABLE {of}_search USING fts5(
            {of}, content='', columnsize=0, detail='none',
            tokenize='trigram case_sensitive 1'
        )""",
    ),
    "postgresql": (
        """CREATE TABLE {of}_search (
            seq BIGINT NOT NULL,
            grams TEXT[] NOT NULL,
            CONSTRAINT pk_{of}_search PRIMARY KEY (seq)
        )""",
        "CREATE INDEX ix_{of}_search_grams ON {of}_search USING gin (grams)",
    ),
}
"""What makes them, by engine."""
SEARCHED: Final = ("reference", "description")
"""The columns of `collection` that are found by any part of them."""
