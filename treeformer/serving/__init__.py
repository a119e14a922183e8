"""Serving: the HTTP service and its page. Needs the extra ``serve``."""
