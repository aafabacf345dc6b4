"""Figures as JSON, tables, plots, and the tables of docs/explanation/performance.md."""
