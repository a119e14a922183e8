"""Serving: the HTTP service and its page. Needs the extra ``serve``.

The path of a request: ``connection`` reads its head, ``guard`` admits it and reads its body, ``application``
finds its route, ``bodies`` makes it one of the requests of ``schema``, ``service`` checks and queues it,
``request_queue`` batches it with others, ``model_process`` sends the batch to a process with models, and the
``engine`` of that process answers. ``schema`` is the JSON of requests and responses, ``limits`` are all
limits, and ``peers`` is what each address may take. ``server`` starts and ends all of it.
"""
