"""`python -m kusanya_console.cli`: the same as `kusanya`."""

from kusanya_console.cli import main

main()
