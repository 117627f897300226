"""How Alembic reaches the store: on the connection and in the transaction it is given."""

from alembic import context

from kusanya.store.tables.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=connection.dialect.name == "sqlite",
    store_id=context.config.attributes["store_id"],
    now=context.config.attributes["now"],
)
context.run_migrations()
