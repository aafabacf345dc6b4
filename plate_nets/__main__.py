"""``python -m plate_nets`` runs `plates`."""

from plate_nets.cli import main

main()
