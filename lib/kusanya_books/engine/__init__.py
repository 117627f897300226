"""What runs a query: DuckDB in this process or Spark, and where frames lie that outgrow memory."""
