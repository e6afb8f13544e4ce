"""``gem hub keys``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gem_hub.cli.options import any_hub_option
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, note, print_json
from gem_hub_client.errors import HubError

__all__ = ["keys_command"]

_ROOT_DAYS = 365
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("keys")
def keys_command() -> None:
    """Make and replace the keys with which a hub is signed.

    Root keys stay off line; a threshold of them says which key signs the hub's changes. That one, the online key, lies
    on the machine that changes the hub.

    \b
    Examples:
      gem hub keys new ~/keys/alice.pem
      gem hub keys init --hub /srv/hub --key ~/keys/alice.pem
      gem hub keys list --hub /srv/hub
      gem hub keys rotate --hub /srv/hub --key ~/keys/alice.pem --online --stolen
    """


_key_option = click.option(
    "--key",
    "keys",
    metavar="FILE",
    multiple=True,
    type=_FILE,
    help="Private root key that signs; several are possible.",
)
_days_option = click.option(
    "--root-days", type=click.IntRange(1, 3650), default=_ROOT_DAYS, show_default=True, help="Validity of the root."
)


@keys_command.command("new")
@click.argument("path", type=_FILE)
@click.option("--encrypt", is_flag=True, help="Ask for a passphrase; GEM_HUB_PASSPHRASE gives it later.")
@json_option
def new_command(path: Path, encrypt: bool, as_json: bool) -> None:
    """Create a private key, and beside it the public one (.pub), which may be shown to anybody."""
    from gem_hub.signing.keys import create_key, public_name

    passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True).encode() if encrypt else None
    signer = create_key(path, passphrase)
    if as_json:
        print_json({"key": signer.public_key.keyid, "private": str(path), "public": str(public_name(path))})
    else:
        click.echo(f"{signer.public_key.keyid}\nprivate: {path}\npublic:  {public_name(path)}")


@keys_command.command("init")
@any_hub_option
@_key_option
@click.option(
    "--public", "publics", metavar="FILE", multiple=True, type=_FILE, help="Public root key of another person."
)
@click.option("--threshold", type=click.IntRange(1, 32), default=1, show_default=True, help="Root keys that must sign.")
@click.option("--draft", type=_FILE, help="Where to write the root if more signatures are needed.")
@_days_option
@json_option
def init_command(
    store: Store,
    keys: tuple[Path, ...],
    publics: tuple[Path, ...],
    threshold: int,
    draft: Path | None,
    root_days: int,
    as_json: bool,
) -> None:
    """Sign a hub from now on: make its first root and its online key."""
    from gem_hub.signing import roots
    from gem_hub.signing.keys import load_key, load_public_key
    from gem_hub.signing.online import new_online_key

    signers = [load_key(path) for path in keys]
    public = [signer.public_key for signer in signers] + [load_public_key(path) for path in publics]
    if not public:
        raise click.UsageError("name at least one root key with --key; gem hub keys new makes one")
    if roots.newest_root(store.files) is not None:
        raise click.UsageError(f"{store.files.address} is signed already; gem hub keys rotate replaces its keys")
    root = roots.first_root(public, threshold, new_online_key(store.files), root_days)
    roots.sign_root(root, signers)
    _install_or_draft(store, root, draft, as_json)


@keys_command.command("rotate")
@any_hub_option
@_key_option
@click.option("--online", is_flag=True, help="Make a new online key.")
@click.option("--stolen", is_flag=True, help="A key was stolen: clients forget what they saw signed with the old keys.")
@click.option("--add", metavar="FILE", multiple=True, type=_FILE, help="Public key that becomes a root key.")
@click.option("--remove", metavar="ID", multiple=True, help="Root key that goes; the beginning of its id suffices.")
@click.option("--threshold", type=click.IntRange(1, 32), help="Root keys that must sign.  [default: as before]")
@click.option("--draft", type=_FILE, help="Where to write the root if more signatures are needed.")
@_days_option
@json_option
def rotate_command(
    store: Store,
    keys: tuple[Path, ...],
    online: bool,
    stolen: bool,
    add: tuple[Path, ...],
    remove: tuple[str, ...],
    threshold: int | None,
    draft: Path | None,
    root_days: int,
    as_json: bool,
) -> None:
    """Make the next root: with other keys, or only valid for longer.

    A threshold of the keys of the root before it must sign it, and a threshold of its own.
    """
    from gem_hub.signing import roots
    from gem_hub.signing.keys import load_key, load_public_key
    from gem_hub.signing.online import new_online_key

    signers = [load_key(path) for path in keys]
    before = _existing_root(store)
    root = roots.successor(
        before,
        root_days,
        add=[load_public_key(path) for path in add],
        remove=remove,
        threshold=threshold,
        online=new_online_key(store.files) if online else None,
        stolen=stolen,
    )
    roots.sign_root(root, signers)
    _install_or_draft(store, root, draft, as_json)


@keys_command.command("sign")
@click.argument("draft", type=_FILE)
@_key_option
@json_option
def sign_command(draft: Path, keys: tuple[Path, ...], as_json: bool) -> None:
    """Add signatures to the draft of a root; the machine of its key needs neither network nor hub."""
    from gem_hub.signing import roots
    from gem_hub.signing.keys import load_key

    root = _draft(draft)
    if not keys:
        raise click.UsageError("name a private root key with --key")
    roots.sign_root(root, [load_key(path) for path in keys])
    draft.write_bytes(roots.dumped(root))
    signed = sorted(root.signatures)
    if as_json:
        print_json({"draft": str(draft), "version": root.signed.version, "signatures": signed})
    else:
        click.echo(f"{draft}: root {root.signed.version}, signed by {', '.join(key[:16] for key in signed)}")


@keys_command.command("publish")
@click.argument("draft", type=_FILE)
@any_hub_option
@json_option
def publish_command(draft: Path, store: Store, as_json: bool) -> None:
    """Put a root with all its signatures into a hub."""
    _install_or_draft(store, _draft(draft), None, as_json)


@keys_command.command("list")
@any_hub_option
@json_option
def list_command(store: Store, as_json: bool) -> None:
    """Show a hub's keys: who signs what, how many are needed, and until when the root is valid."""
    from gem_hub.signing import roots
    from gem_hub.signing.online import key_path

    root = _existing_root(store).signed
    path = key_path(store.files)
    is_here = path is not None and path.is_file()
    if as_json:
        print_json(
            {
                "fingerprint": roots.fingerprint(root),
                "version": root.version,
                "expires": f"{root.expires:%Y-%m-%dT%H:%M:%SZ}",
                "roles": {
                    name: {"threshold": role.threshold, "keys": role.keyids} for name, role in root.roles.items()
                },
                "online_key_is_here": is_here,
            }
        )
        return
    click.echo(f"key {roots.fingerprint(root)}")
    click.echo(f"root {root.version}, valid until {root.expires:%Y-%m-%d}")
    for name in ("root", "timestamp"):
        role = root.roles[name]
        what = f"root keys, {role.threshold} of {len(role.keyids)}" if name == "root" else "online key"
        click.echo(f"{what}: {', '.join(identity[:16] for identity in role.keyids)}")
    click.echo(f"the online key is {f'in {path}' if is_here else 'not on this machine'}")


def _existing_root(store: Store) -> Any:
    from gem_hub.signing import roots

    root = roots.newest_root(store.files)
    if root is None:
        raise HubError(f"{store.files.address} is not signed; gem hub keys init makes its keys")
    return root


def _draft(path: Path) -> Any:
    from gem_hub.signing import roots

    try:
        return roots.parsed_root(path.read_bytes(), str(path))
    except OSError as error:
        raise HubError(f"{path}: cannot be read: {error.strerror or error}") from error


def _install_or_draft(store: Store, root: Any, draft: Path | None, as_json: bool) -> None:
    from gem_hub.signing import roots

    before = roots.newest_root(store.files)
    missing = roots.missing_signatures(before, root)
    if missing and draft is None:
        raise click.UsageError(
            f"root {root.signed.version} needs {'; '.join(missing)}. Name their files with --key, or write a draft for "
            "others to sign with --draft FILE"
        )
    print_name = roots.fingerprint(root.signed)
    if missing and draft is not None:
        draft.write_bytes(roots.dumped(root))
        if as_json:
            print_json({"draft": str(draft), "missing": missing, "fingerprint": print_name})
            return
        click.echo(f"Wrote {draft}, and changed no hub. It needs {'; '.join(missing)}.")
        click.echo(f"Next, on their machines: gem hub keys sign {draft.name} --key FILE; then: gem hub keys publish")
        return
    store.install_root(root.signed.version, roots.dumped(root))
    if as_json:
        print_json({"version": root.signed.version, "fingerprint": print_name})
    else:
        click.echo(f"Root {root.signed.version} of {store.files.address} is in force.\nkey {print_name}")
        note("keep the root keys off this machine; who has them can replace all others")
