"""What is measured: a module for each table of the report."""
