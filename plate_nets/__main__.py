"""``python -m plate_nets`` is `plates`."""

from plate_nets.cli import main

main()
