"""Trees in the objects of other libraries."""
