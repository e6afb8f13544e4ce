"""What a remote engine may ask of its worker, field by field: :func:`parse_operation`.

Unknown operations, unknown fields and values out of range are refused.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gem_terminal.task import ResourceLimits

__all__ = ["Greeting", "LimitsField", "RemoteOperation", "SpecField", "parse_greeting", "parse_operation"]

_Handle = Annotated[int, Field(ge=1, le=1 << 53)]
_Name = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[\w][\w./:@+-]*$")]
_Path = Annotated[str, Field(max_length=4096)]
_Seconds = Annotated[float, Field(ge=0.0, le=7 * 86400.0, allow_inf_nan=False)]
_Bytes = Annotated[int, Field(ge=0, le=1 << 53)]
_Most = Annotated[int, Field(ge=0, le=1 << 30)]
_Texts = Annotated[tuple[str, ...], Field(max_length=100_000)]
_Environment = Annotated[dict[str, str], Field(max_length=10_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Greeting(_Strict):
    """The first message of a connection."""

    protocol: int
    session: str | None = Field(default=None, max_length=200)
    """The session that goes on; None for a new one."""


class LimitsField(_Strict):
    """The limits of a container."""

    cpus: float = Field(gt=0.0, le=4096.0)
    memory: int = Field(ge=1 << 20, le=1 << 50)
    processes: int = Field(ge=1, le=1 << 22)
    disk: _Bytes | None = None
    network: bool = False
    host_network: bool = False
    allowed_hosts: _Texts | None = None

    def limits(self) -> ResourceLimits:
        """Return them as engines take them."""
        return ResourceLimits(**self.model_dump())


class RemoteOperation(_Strict):
    """A request, which has one answer."""

    number: _Handle
    """Of the request in its session. A repeated number is the same request, which is carried out once."""
    answered: Annotated[tuple[_Handle, ...], Field(max_length=10_000)] = ()
    """Requests whose answers have arrived, so that the worker forgets them."""
    upload: _Handle | None = None
    """A payload that was sent before, because it was too large."""


class _About(RemoteOperation):
    op: Literal["about"]


class _Reap(RemoteOperation):
    op: Literal["reap"]


class _Upload(RemoteOperation):
    op: Literal["append"]


class _Download(RemoteOperation):
    op: Literal["download"]
    download: _Handle
    offset: _Bytes


class _HasBase(RemoteOperation):
    op: Literal["has_base"]
    name: _Name


class _AddBase(RemoteOperation):
    op: Literal["add_base"]
    name: _Name


class _Prepare(RemoteOperation):
    op: Literal["prepare"]
    name: _Name | None
    context: Annotated[str, Field(pattern="^[0-9a-f]{1,64}$")] | None
    """The digest of the folder; None for an image with a name alone."""
    dockerfile: _Path
    build_seconds: _Seconds
    arguments: Annotated[tuple[tuple[str, str], ...], Field(max_length=10_000)]


class _WithContainer(RemoteOperation):
    container: _Handle


class _Starting(RemoteOperation):
    limits: LimitsField
    environment: _Environment


class _Start(_Starting):
    op: Literal["start"]
    reference: _Name


class _Restore(_Starting):
    op: Literal["restore"]
    snapshot: _Handle


class SpecField(_Strict):
    """A container of several in one network."""

    reference: _Name
    limits: LimitsField
    environment: _Environment
    names: _Texts


class _StartFirst(RemoteOperation):
    op: Literal["start_first"]
    spec: SpecField
    names: _Texts
    beside: Annotated[tuple[SpecField, ...], Field(max_length=1000)]


class _StartBeside(RemoteOperation):
    op: Literal["start_beside"]
    first: _Handle
    spec: SpecField
    names: _Texts


class _SideCar(_Strict):
    name: str
    ports: Annotated[tuple[int, ...], Field(max_length=10_000)]


class _CheckSideCars(RemoteOperation):
    op: Literal["check_side_cars"]
    side_cars: Annotated[tuple[_SideCar, ...], Field(max_length=1000)]


class _ImageProcess(RemoteOperation):
    op: Literal["image_process"]
    reference: _Name


class _Command(_WithContainer):
    command: _Texts
    user: str | None = Field(max_length=256)
    environment: _Environment | None
    workdir: _Path | None


class _Open(_Command):
    op: Literal["open"]
    terminal: bool


class _Run(_Command):
    op: Literal["run"]
    seconds: _Seconds


class _Put(_WithContainer):
    op: Literal["put"]
    folder: _Path


class _Get(_WithContainer):
    op: Literal["get"]
    path: _Path
    most: _Most


class _Changes(_WithContainer):
    op: Literal["changes"]
    folders: _Texts
    most: _Most


class _KillAll(_WithContainer):
    op: Literal["kill_all"]


class _Survivors(_WithContainer):
    op: Literal["survivors"]


class _ReachedLimits(_WithContainer):
    op: Literal["reached_limits"]
    suspected: bool


class _Snapshot(_WithContainer):
    op: Literal["snapshot"]


class _Remove(_WithContainer):
    op: Literal["remove"]


class _Forget(RemoteOperation):
    op: Literal["close_snapshot"]
    snapshot: _Handle


class _WithChannel(RemoteOperation):
    channel: _Handle


class _Write(_WithChannel):
    op: Literal["write"]
    seconds: _Seconds


class _Read(_WithChannel):
    op: Literal["read"]
    seconds: _Seconds


class _Resize(_WithChannel):
    op: Literal["resize"]
    columns: int = Field(ge=0, le=0xFFFF)
    rows: int = Field(ge=0, le=0xFFFF)


class _ExitCode(_WithChannel):
    op: Literal["exit_code"]
    seconds: _Seconds


class _Close(_WithChannel):
    op: Literal["close"]


_OPERATION: TypeAdapter[RemoteOperation] = TypeAdapter(
    Annotated[
        _About | _Reap | _Upload | _Download | _HasBase | _AddBase | _Prepare | _Start | _Restore | _StartFirst
        | _StartBeside | _CheckSideCars | _ImageProcess | _Open | _Run | _Put | _Get | _Changes | _KillAll | _Survivors
        | _ReachedLimits | _Snapshot | _Remove | _Forget | _Write | _Read | _Resize | _ExitCode | _Close,
        Field(discriminator="op"),
    ]
)  # fmt: skip


def parse_greeting(head: bytes) -> Greeting:
    """Return the first message of a connection.

    Raises:
        ValueError: if it is none.
    """
    return Greeting.model_validate_json(head)


def parse_operation(head: bytes) -> RemoteOperation:
    """Return the request of a message.

    Raises:
        ValueError: if it is none; the text says which field is wrong.
    """
    return _OPERATION.validate_json(head)
