"""What all tables are made of."""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, Text, text

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite makes a table's own row number of an INTEGER primary key: no second tree for seq.
SEQ: Final = BigInteger().with_variant(Integer, "sqlite")
# Bytewise order on both engines: ranges find prefixes, and keyset pages agree with Python.
ID: Final = Text().with_variant(Text(collation="C"), "postgresql")


def seq() -> Column[int]:
    """Return the place in the journal, which keys a fact."""
    return Column("seq", SEQ, primary_key=True, autoincrement=False)


def only(where: str) -> dict[str, Any]:
    """Return the options of an index that holds only the rows that pass `where`."""
    return {"sqlite_where": text(where), "info": {"where": where}}
