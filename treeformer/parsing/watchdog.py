"""Run a command and stop it when the parent process ends: ``python watchdog.py COMMAND...``

Standard input is a pipe from the parent. It closes when the parent closes it or dies, however it dies, and
then the command is stopped. This file imports only the standard library.
"""

import os
import subprocess
import sys
import threading

_GRACE = 5.0  # seconds between asking the command to stop and killing it


def main() -> int:
    """The exit status of the command; 128 + N if signal N ended it, as in a shell."""
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_stop_at_end_of_input, args=(command,), daemon=True).start()
    status = command.wait()
    return 128 - status if status < 0 else status


def _stop_at_end_of_input(command: "subprocess.Popen[bytes]") -> None:
    os.read(sys.stdin.fileno(), 1)
    command.terminate()
    try:
        command.wait(_GRACE)
    except subprocess.TimeoutExpired:
        command.kill()


if __name__ == "__main__":
    sys.exit(main())
