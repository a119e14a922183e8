"""``treeformer serve``: the page and the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.serving.limits import DAY, Limits

_EXTRA = "treeformer serve needs more packages: pip install 'treeformer[serve]'"


def command(
    model: Annotated[
        Path | None,
        typer.Option(help="The folder of a run that classifies; default: the one that comes along."),
    ] = None,
    other_model: Annotated[
        Path | None, typer.Option(help="A second run that classifies, to see side by side.")
    ] = None,
    translation: Annotated[Path | None, typer.Option(help="The folder of a run that translates.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="TREEFORMER_TOKEN", help="What requests must carry as bearer token.")
    ] = None,
    characters: Annotated[int, typer.Option(min=1, help="Of one text or tree.")] = Limits.characters,
    inputs: Annotated[int, typer.Option(min=1, help="Texts or trees of one request.")] = Limits.inputs,
    sentences: Annotated[int, typer.Option(min=1, help="Of one text.")] = Limits.sentences,
    words: Annotated[int, typer.Option(min=1, help="Of one text.")] = Limits.words,
    costly: Annotated[
        int, typer.Option(min=1, help="Words where attention or a translation is asked for.")
    ] = Limits.costly,
    body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = Limits.body,
    waiting: Annotated[
        int, typer.Option(min=1, help="Requests under way; more are refused.")
    ] = Limits.waiting,
    seconds: Annotated[
        float, typer.Option(min=0.001, max=DAY, help="For a request to be answered.")
    ] = Limits.seconds,
    batch: Annotated[int, typer.Option(min=1, help="Texts that the model reads together.")] = Limits.batch,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="With the models; default: one for each core, up to 4, one on a GPU."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of each process; default: all together use each core once.")
    ] = None,
    device: option.Device = None,
) -> None:
    """Serve a page on which to see trees and attention, and the service behind it.

    treeformer serve --port 8000, then open http://127.0.0.1:8000/

    Stops on Ctrl-C or SIGTERM, when all requests that it accepted are answered.
    """
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{_EXTRA} ({error})") from error

    from treeformer.serving.metrics import Metrics
    from treeformer.serving.model_process import Runs
    from treeformer.serving.server import listening, load_service, serve

    limits = Limits(
        characters=characters,
        inputs=inputs,
        sentences=sentences,
        words=words,
        costly=costly,
        body=body,
        waiting=waiting,
        seconds=seconds,
        batch=batch,
    )
    metrics = Metrics()
    listener = listening(host, port)
    runs = Runs(model, other_model, translation, limits, device, threads)
    service = load_service(runs, processes, metrics)
    shown = f"[{host}]" if ":" in host else host
    print(f"treeformer: http://{shown}:{listener.getsockname()[1]}/ (Ctrl-C ends)", flush=True)
    try:
        serve(service, metrics, listener, token=token or None)
    finally:
        service.close()
