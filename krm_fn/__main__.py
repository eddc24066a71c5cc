"""The program: without arguments the KRM function, with arguments the command.

It imports nothing heavy, because every build starts the function again. After any error, one line is on stderr, stdout is
empty, and there is an exit code.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself makes enums, which costs as much as rendering
import gc
import io
import sys

from krm_fn import startup
from krm_fn.base.console import (
    COMPLETING,
    INTERRUPTED,
    abandon_stdout,
    fail,
    file_name,
    open_streams,
    output,
    read_in,
    write_out,
)
from krm_fn.base.errors import RenderError

try:
    from posix import _exit, environ

    COMPLETION = COMPLETING.encode()
except ImportError:
    from os import _exit, environ  # type: ignore[assignment]

    COMPLETION = COMPLETING  # type: ignore[assignment]

# Windows has no SIGHUP.
ENDING = (_signal.SIGTERM, *([_signal.SIGHUP] if hasattr(_signal, "SIGHUP") else []))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType


def main() -> int:
    """Run the program. Returns the exit code: 0 clean, 1 findings or unreadable input, 2 usage or config."""
    _end_cleanly()
    open_streams()
    startup.install()
    arguments = sys.argv[1:]
    code = guarded(lambda: run(arguments))
    if not arguments:
        _end(code)
    return code


def run(arguments: Sequence[str]) -> int:
    """Run the function, the plugin, a shell completion, or the command in the arguments. Returns the exit code."""
    if not arguments and COMPLETION in environ:
        from krm_fn.cli.completion import complete

        return complete()
    if not arguments and not _on_terminal():
        return _function()
    if arguments and _called_as_plugin(arguments[0]):
        return _plugin(arguments[0])
    from krm_fn.cli import run as run_command  # click and all that only the command needs

    return run_command(arguments or ["--help"])


def guarded(call: Callable[[], int]) -> int:
    """The result of `call`. An exception becomes an exit code, with one line on stderr and no traceback."""
    try:
        code = call()
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return 1
    except KeyboardInterrupt:
        abandon_stdout()
        return INTERRUPTED
    except SystemExit:  # a signal ended it
        abandon_stdout()
        raise
    except RenderError as error:
        return fail(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001  hosts show stderr to their users; a traceback helps none of them
        return fail(_explained(error))
    return code


def _explained(error: Exception) -> str:
    """One line about an exception from outside of the package. Its text is left out, because it may contain the user's data."""
    if isinstance(error, MemoryError):
        return "the input needs more memory than is available"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, OSError):
        abandon_stdout()
        file = error.filename if isinstance(error.filename, str) else ""
        return f"{file_name(file) or 'input or output'}: {error.strerror or 'failed'}"
    return f"internal error: {type(error).__name__} at {_origin(error.__traceback__)}; please report it"


def _end(code: int) -> None:
    """End the process now. To release modules and values one by one takes a tenth of the time, and has no use."""
    sys.stderr.flush()
    _exit(code)


def _function() -> int:
    gc.disable()  # plain trees have no cycles; the search for them takes a tenth of the time
    data = read_in()
    if b"\nitems: []\n" not in data:  # which needs few modules
        startup.load()
    from krm_fn.hosts.function import run as run_function

    return run_function(data, output(), sys.stderr)


def _called_as_plugin(file: str) -> bool:
    """True if kustomize calls the program as an older plugin, with a config's file as first argument."""
    import os  # takes long to load if a container's entry point has not loaded it

    called = any(name.startswith("KUSTOMIZE_PLUGIN_CONFIG_") for name in os.environ)
    return called and os.path.isfile(file)  # noqa: PTH113  pathlib is too heavy here


def _plugin(file: str) -> int:
    from krm_fn.hosts.kustomize_plugin import run as run_plugin

    out = io.BytesIO()
    code = run_plugin(file, read_in(), out, sys.stderr)
    write_out(out.getvalue())
    return code


def _on_terminal() -> bool:
    return sys.stdin.isatty()


def _end_cleanly() -> None:
    """Make the program clean up when a signal ends it, for example remove files that are half written.

    Otherwise, a container's first process would not even end. A SIGHUP that `nohup` ignores stays ignored.
    """
    for number in ENDING:
        if number == _signal.SIGTERM or _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _terminate)


def _terminate(number: int, _: object) -> None:
    for each in ENDING:
        _signal.signal(each, _signal.SIG_IGN)  # a second signal would stop the clean-up
    raise SystemExit(128 + number)


def _origin(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"


if __name__ == "__main__":
    sys.exit(main())
