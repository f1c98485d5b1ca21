"""``python -m recollect`` is the command."""

from recollect.cli import main

main()
