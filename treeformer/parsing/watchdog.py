"""Run a command until it ends or the process that started us does: ``python watchdog.py COMMAND...``

Our standard input is a pipe that our parent holds open. It closes when the parent closes it or dies, however
it dies, and then the command is stopped. Needs nothing but the standard library.
"""

import os
import subprocess
import sys
import threading

_PATIENCE = 5.0  # seconds between asking to stop and making it


def main() -> int:
    """Status of the command; 128 + N where signal N ended it, as a shell counts."""
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_stop_at_end_of_input, args=(command,), daemon=True).start()
    status = command.wait()
    return 128 - status if status < 0 else status


def _stop_at_end_of_input(command: "subprocess.Popen[bytes]") -> None:
    os.read(sys.stdin.fileno(), 1)
    command.terminate()
    try:
        command.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        command.kill()


if __name__ == "__main__":
    sys.exit(main())
