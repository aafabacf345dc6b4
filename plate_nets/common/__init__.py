"""What every part may use: errors and their codes, files, threads, context managers, and what comes from outside."""
