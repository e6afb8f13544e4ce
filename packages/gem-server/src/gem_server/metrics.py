"""Counters of a server, as the text that Prometheus reads.

The hot path adds to plain ints; labels, help texts and the format are for the moment in which somebody asks. The
format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gem_server.operations import CONTINUES, ENDED, FAILED, REFUSED, RESET, STEP

__all__ = ["CONTENT_TYPE", "ServerMetrics", "rendered"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, str, str, Mapping[str, float]]
"""Name, type, help text, and value by labels, which are ``""`` or ``{name="value"}``."""


class ServerMetrics:
    """What happened since the server started."""

    def __init__(self) -> None:
        self.calls = [0] * 16
        """Calls by operation."""
        self.kinds = [0] * 4
        """Results of steps and resets by kind."""
        self.opened = 0
        self.closed = 0
        self.reaped = 0
        self.connections = 0
        self.denied = 0
        self.bad_messages = 0

    def count(self, operation: int, kind: int) -> None:
        """Count the result of a call."""
        self.calls[operation] += 1
        if operation <= RESET:
            self.kinds[kind] += 1

    def samples(self) -> list[Sample]:
        """Return all counters."""
        kinds = self.kinds
        return [
            ("gem_steps_total", "counter", "Steps of all environments.", {"": self.calls[STEP]}),
            ("gem_resets_total", "counter", "Resets that clients asked for.", {"": self.calls[RESET]}),
            (
                "gem_results_total",
                "counter",
                "Results of steps and resets: the episode goes on, has ended, failed, or the call was refused.",
                {
                    '{kind="continues"}': kinds[CONTINUES],
                    '{kind="ended"}': kinds[ENDED],
                    '{kind="failed"}': kinds[FAILED],
                    '{kind="refused"}': kinds[REFUSED],
                },
            ),
            ("gem_sessions_opened_total", "counter", "Sessions opened.", {"": self.opened}),
            ("gem_sessions_closed_total", "counter", "Sessions closed, for any reason.", {"": self.closed}),
            ("gem_sessions_reaped_total", "counter", "Sessions closed because nobody used them.", {"": self.reaped}),
            ("gem_connections_total", "counter", "Connections accepted.", {"": self.connections}),
            ("gem_denied_total", "counter", "Requests without a valid token or origin.", {"": self.denied}),
            ("gem_bad_messages_total", "counter", "Messages that could not be read.", {"": self.bad_messages}),
        ]


def rendered(samples: Iterable[Sample]) -> str:
    """Return samples in the text format."""
    lines: list[str] = []
    for name, kind, explanation, values in samples:
        lines += [f"# HELP {name} {explanation}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels} {value}" for labels, value in values.items()]
    return "\n".join(lines) + "\n"
