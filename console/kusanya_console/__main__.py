"""`python -m kusanya_console`: the same as `kusanya`."""

from kusanya_console.cli import main

main()
