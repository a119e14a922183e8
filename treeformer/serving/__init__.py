"""Serving: the HTTP service and its page. Needs the extra ``serve``.

A request goes from ``guard`` (who may ask, how much) to ``application`` (paths) and ``service`` (checks and
queues the question). A thread of ``jobs`` gives it, with others, to a ``model_process``. In that process
``models`` answers, and an ``engine`` does what one model is asked for. ``server`` starts and ends all of it.
"""
