"""``python -m treeformer`` is the command ``treeformer``."""

from treeformer.cli.main import main

main()
