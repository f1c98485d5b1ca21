"""``python -m recollect.cli`` is the command."""

from recollect.cli import main

main()
