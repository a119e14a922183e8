"""``fit``: a table of labelled texts to a trained model and a report that compares it with baselines."""
