"""The command's root: its options, `login` and `logout`, and what errors say."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ballast import (
    ApiConnectionError,
    ApiStatusError,
    AuthenticationError,
    BallastError,
    NotFoundError,
    PermissionDeniedError,
)  # fmt: skip
from ballast._version import __version__
from ballast.cli import events, keys, payments, receipts, triggers
from ballast.cli.output import Output
from ballast.cli.session import Refused, Session, connect, session

REFUSED, UNUSABLE, INTERRUPTED = 1, 3, 130
"""Exit codes: the API says no, or a receipt is not genuine; nothing could be asked (no keys, no connection). 2 is a
wrong use of the command, as everywhere."""

app = typer.Typer(
    help="Ballast from the command line: payments, events and webhooks of your own machine.",
    no_args_is_help=True, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 refused, 2 used wrongly, 3 could not be asked. `ballast --install-completion` "
    "completes commands in your shell.",
)  # fmt: skip
app.add_typer(payments.app, name="payments")
app.add_typer(events.app, name="events")
app.add_typer(events.logs, name="logs")
app.add_typer(receipts.app, name="receipts")
app.command()(events.listen)
app.command()(triggers.trigger)


def run(arguments: list[str] | None = None) -> int:
    """Runs the command, and returns its exit code."""
    output = Output(as_json=False)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--json" in words:  # it stands behind the command as well: that is where people write it
        words = ["--json", *(word for word in words if word != "--json")]
    try:
        app(words, prog_name="ballast")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(bool(ending.code))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is written when Python ends
        return 0
    except (Refused, keys.CannotKeep, ValueError) as error:
        output.note(str(error), "red")
        return UNUSABLE
    except ApiConnectionError as error:
        output.note(f"{error}. Does the service run there, and can it be reached from here?", "red")
        return UNUSABLE
    except BallastError as error:
        output.note(str(error), "red")
        if isinstance(error, ApiStatusError):
            for one in error.errors:
                output.note(f"  {one.param}: {one.message}", "red")
        if advice := _advice(error):
            output.note(advice)
        return REFUSED
    return 0


def _advice(error: BallastError) -> str:
    match error:
        case AuthenticationError():
            return "Make a pair in the dashboard under Developers, and run: ballast login"
        case PermissionDeniedError():
            return "The key's scopes and networks are in the dashboard under Developers, Keys."
        case NotFoundError():
            return "Keys of the sandbox see records of the sandbox alone, and live keys those of production."
    return ""


@app.callback()
def options(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print records as JSON, one in each line.")] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", envvar="BALLAST_PROFILE", help="Which of several log-ins to use.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"ballast {__version__}")
        raise typer.Exit
    context.obj = Session(profile, Output(as_json=json))


@app.command()
def login(
    context: typer.Context,
    url: Annotated[
        str, typer.Option(prompt="Address of Ballast", envvar="BALLAST_URL", help="As https://pay.example.com")
    ],
    public_key: Annotated[str, typer.Option(prompt="Public key (pk_…)", envvar="BALLAST_PUBLIC_KEY")],
) -> None:
    """Keep a pair of keys for this user. The secret key is asked for, or read from BALLAST_SECRET_KEY."""
    here = session(context)
    # No option: it would be in the history of the shell, and in the list of processes.
    secret_key = os.environ.get("BALLAST_SECRET_KEY") or typer.prompt("Secret key (sk_…)", hide_input=True)
    pair = keys.Keys(url.strip(), public_key.strip(), secret_key.strip())
    with connect(pair) as client:
        merchant = client.merchant.get()
        environment = client.environment
    file = keys.save(here.kept_as, pair)
    if here.output.as_json:
        here.output.json({"merchant": merchant.id, "environment": environment, "file": str(file)})
    else:
        here.output.plain(f"Logged in as {merchant.name} ({environment}). The keys are in {file}, for you alone.")


@app.command()
def logout(context: typer.Context) -> None:
    """Forget the keys of this profile. They still work: end them in the dashboard."""
    here = session(context)
    if not keys.forget(here.kept_as):
        raise Refused(f"There are no keys of the profile {here.kept_as}.")
    here.output.note("Forgotten.")
