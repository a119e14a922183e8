"""The way from a text to its answer stays short."""

from tests import walk


def test_a_classification_passes_few_functions_outside_the_mathematics() -> None:
    passed = walk.classification()
    listed = "\n".join(f"{file}: {name}" for file, name in passed)
    assert walk.outside_mathematics(passed) <= 80, f"the walk has grown:\n{listed}"
