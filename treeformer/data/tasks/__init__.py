"""Tasks: how the files of a corpus become samples. One file a task."""
