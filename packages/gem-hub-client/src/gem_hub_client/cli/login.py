"""``gem hub login``, ``logout`` and ``whoami``."""

from __future__ import annotations

import sys

import click

from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.cli.registry_options import logged_in, registry_option
from gem_hub_client.errors import HubError
from gem_hub_client.registry.client import RegistryClient, RegistryRefusal
from gem_hub_client.registry.credentials import Login, credentials_file, forget, login_of, prepare, remember
from gem_hub_client.sanitize import sanitize

__all__ = ["login_command", "logout_command", "whoami_command"]

_LONGEST = 1000


@click.command("login")
@registry_option
@click.option("--name", help="Create an account of this name.")
@click.option("--invite", help="An invite, where the hub asks for one.")
@json_option
def login_command(hub: str, name: str | None, invite: str | None, as_json: bool) -> None:
    """Log in at a hub, to publish there.

    With --name, create an account; there are no passwords. Without it, the command reads a token from stdin, or asks
    for one on a terminal. The token is stored in a file that only you may read, and is sent to this hub alone.

    \b
    Examples:
      gem hub login --hub https://hub.example/ --name ada
      gem hub login --hub https://hub.example/ < token.txt
    """
    if invite is not None and name is None:
        raise click.UsageError("an invite creates an account; say how it is to be called with --name")
    known = login_of(hub)
    prepare()  # a token that cannot be stored is lost, so this comes first
    if name is not None:
        if known is not None:
            raise HubError(f"you are logged in as {known.account} at {hub}; run first: gem hub logout --hub {hub}")
        login = _registered(hub, name, invite)
    else:
        login = _verified(hub, _token())
    path = remember(hub, login)
    if as_json:
        print_json({"hub": hub, "account": login.account, "credentials": str(path)})
        return
    click.echo(f"Logged in as {login.account} at {hub}; the token is in {path}.")


@click.command("logout")
@registry_option
@click.option("--keep-token", is_flag=True, help="Do not revoke the token at the hub.")
@json_option
def logout_command(hub: str, keep_token: bool, as_json: bool) -> None:
    """Revoke the stored token of a hub, and forget it.

    The last token of an account is the only way into it: make another one first with 'gem hub tokens new', or keep the
    token with --keep-token.

    \b
    Examples:
      gem hub logout --hub https://hub.example/
    """
    login = login_of(hub)
    if login is None:
        raise HubError(f"you are not logged in at {hub}")
    revoked = False
    if not keep_token:
        try:
            RegistryClient(hub, login.token).send("DELETE", "api/v1/tokens/current")
            revoked = True
        except RegistryRefusal as refusal:
            if refusal.status != 401:  # it is worth nothing any more
                raise
    forget(hub)
    if as_json:
        print_json({"hub": hub, "account": login.account, "revoked": revoked})
        return
    click.echo(f"Logged out at {hub}{'; the token is revoked' if revoked else ''}.")


@click.command("whoami")
@registry_option
@json_option
def whoami_command(hub: str, as_json: bool) -> None:
    """Show the account at a hub, and what its stored token may do.

    \b
    Examples:
      gem hub whoami
    """
    me = logged_in(hub).get("api/v1/me")
    if as_json:
        print_json(me)
        return
    click.echo(f"{sanitize(str(me['account']))} at {hub}")
    click.echo(f"  may: {sanitize(', '.join(map(str, me.get('scopes') or ())))}")
    if me.get("packages") is not None:
        click.echo(f"  for: {sanitize(', '.join(map(str, me['packages'])))}")
    click.echo(f"  token in {credentials_file()}")


def _registered(hub: str, name: str, invite: str | None) -> Login:
    answer = RegistryClient(hub).send(
        "POST", "api/v1/accounts", {"name": name, **({"invite": invite} if invite else {})}
    )
    try:
        login = Login(answer["token"], answer["account"])
        if not all(isinstance(text, str) and text for text in login):
            raise TypeError
    except (TypeError, LookupError) as error:
        raise HubError(f"{hub}: does not answer as a registry does") from error
    return login


def _token() -> str:
    if sys.stdin.isatty():
        text = click.prompt("Token (create an account with --name instead)", hide_input=True)
    else:
        text = sys.stdin.read(_LONGEST + 1)
    token = str(text).strip()
    if not token or len(token) > _LONGEST or any(character.isspace() for character in token):
        raise HubError("stdin holds no token; pass one token in one line, or create an account with --name")
    return token


def _verified(hub: str, token: str) -> Login:
    try:
        me = RegistryClient(hub, token).get("api/v1/me")
    except RegistryRefusal as refusal:
        if refusal.status == 401:
            raise HubError(f"{hub}: {refusal.detail}; nothing was stored") from refusal
        raise
    account = me.get("account") if isinstance(me, dict) else None
    if not isinstance(account, str):
        raise HubError(f"{hub}: does not answer as a registry does")
    return Login(token, account)
