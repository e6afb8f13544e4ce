"""The run tracker ``opentelemetry``: a trace of each episode and metrics, by the conventions for generative AI.

Names and units are those of OpenTelemetry's semantic conventions for generative AI, which are still in development:
https://opentelemetry.io/docs/specs/semconv/gen-ai/ (agent spans, client metrics, evaluation events). What they do not
name begins with ``gem.``. Messages are not sent, which is the conventions' default.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_eval.trackers.tracker import episode_figures, flat_figures, needs_library, run_settings
from gem_rollout.trajectory import Trajectory, Transition

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

__all__ = ["OpenTelemetryTracker"]

_TOKENS = [4.0**power for power in range(14)]
_SECONDS = [0.01 * 2.0**power for power in range(14)]
"""Bounds of the histograms, which the conventions give."""
_BATCH = 512
"""Spans in a request, as OpenTelemetry's own batches have."""


class OpenTelemetryTracker:
    """Sends a span for each episode, with one for each call of a model and of a tool below it, and metrics.

    ``OTEL_EXPORTER_OTLP_ENDPOINT`` and its siblings say where to: OTLP over HTTP, ``http://localhost:4318`` unless
    set. In a program that has set up OpenTelemetry itself, its tracer and meter are used. Spans have the times of the
    episode; the calls stand one after another, without the time that passed between them. Of an episode the figures are
    attributes, and its return, success and scores events ``gen_ai.evaluation.result``.

    Raises:
        MissingPluginError: if a library of OpenTelemetry is not installed.
        RuntimeError: from a call, if the receiver did not take the spans.
    """

    def __init__(self, folder: Path) -> None:
        self.check()
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider

        self._name = folder.name
        self._provider = _provider(run_settings(folder))
        self._own: list[Any] = []
        tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
        if not isinstance(tracers, TracerProvider):
            tracers = _tracers()
            self._own.append(tracers)
        if not isinstance(meters, MeterProvider):
            meters = _meters()
            self._own.append(meters)
        self._tracer = tracers.get_tracer("gem_eval")
        meter = meters.get_meter("gem_eval")
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )
        self._episodes = meter.create_counter("gem.episodes", "{episode}", "Episodes that ended, by their outcome")
        self._gauge = meter.create_gauge("gem.run", "1", "Figures of a run at its end, or of training after an update")

    @staticmethod
    def check() -> None:
        """Raise MissingPluginError if a library is missing."""
        needs_library("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")

    def episode(self, trajectory: Trajectory) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        env = trajectory.key.env or "unknown"
        begin = trajectory.started_at or 0.0
        span = self._tracer.start_span(
            f"invoke_agent {trajectory.agent}",
            kind=SpanKind.INTERNAL,
            start_time=_nanoseconds(begin),
            attributes=self._episode_attributes(trajectory, env),
        )
        context = set_span_in_context(span)
        end = begin
        for turn in trajectory.transitions:
            for name, kind, seconds, attributes in self._calls(turn, env):
                child = self._tracer.start_span(
                    name, context, kind=kind, start_time=_nanoseconds(end), attributes=attributes
                )
                if attributes.get("error.type"):
                    child.set_status(Status(StatusCode.ERROR))
                end += seconds
                child.end(_nanoseconds(end))
        end = max(end, begin + (trajectory.seconds or 0.0))
        _evaluated(span, trajectory, _nanoseconds(end))
        if trajectory.failure is not None:
            span.set_attribute("error.type", trajectory.failure.kind)
            span.set_status(Status(StatusCode.ERROR, trajectory.failure.message))
        span.end(_nanoseconds(end))
        self._episodes.add(1, {"gem.env": env, "gem.outcome": trajectory.outcome})

    def summary(self, figures: Mapping[str, Any]) -> None:
        self._set_gauge("summary", figures)

    def update(self, figures: Mapping[str, Any], step: int) -> None:
        """Send the figures of an update of training as values of the gauge ``gem.run``."""
        self._set_gauge("training", {**figures, "update": step})

    def close(self) -> None:
        for provider in self._own:
            provider.shutdown()

    def _set_gauge(self, kind: str, figures: Mapping[str, Any]) -> None:
        for name, value in flat_figures(figures):
            self._gauge.set(value, {"gem.run.name": self._name, "gem.figure": f"{kind}/{name}"})

    def _episode_attributes(self, trajectory: Trajectory, env: str) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self._provider,
            "gen_ai.agent.name": trajectory.agent,
            "gen_ai.conversation.id": f"{self._name}/{env}/{trajectory.key.seed}/{trajectory.key.repetition}",
            "gem.env": env,
            "gem.seed": trajectory.key.seed,
            "gem.repetition": trajectory.key.repetition,
            "gem.outcome": trajectory.outcome,
            "gem.stop_reason": trajectory.stop_reason,
        }
        figures = episode_figures(trajectory)
        for own, conventional in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
            if own in figures:
                attributes[f"gen_ai.usage.{conventional}"] = int(figures.pop(own))
        attributes.update({f"gem.{name.replace('/', '.')}": value for name, value in figures.items()})
        return {name: value for name, value in attributes.items() if value is not None}

    def _calls(self, turn: Transition, env: str) -> Iterator[tuple[str, Any, float, dict[str, Any]]]:
        """Yield name, kind, seconds and attributes of the calls of a turn: of the model, then of its tools."""
        from opentelemetry.trace import SpanKind

        if turn.model is not None or turn.usage:
            attributes = self._model_call(turn)
            seconds = turn.act_seconds or 0.0
            self._measure(attributes, turn, seconds)
            yield f"chat {turn.model or ''}".strip(), SpanKind.CLIENT, seconds, attributes
        results = turn.tool_calls or turn.info.get("tool_results")
        calls = [item for item in results if isinstance(item, Mapping)] if isinstance(results, Sequence) else []
        for call in calls:
            name = str(call.get("name") or "unknown")
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.type": "function",
                "gem.env": env,
            }
            if call.get("tool_call_id"):
                attributes["gen_ai.tool.call.id"] = str(call["tool_call_id"])
            if call.get("ok") is False:
                attributes["error.type"] = "tool_error"
            yield f"execute_tool {name}", SpanKind.INTERNAL, (turn.step_seconds or 0.0) / len(calls), attributes

    def _model_call(self, turn: Transition) -> dict[str, Any]:
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": self._provider}
        if turn.model is not None:
            attributes["gen_ai.request.model"] = attributes["gen_ai.response.model"] = turn.model
        if turn.finish_reason is not None:
            attributes["gen_ai.response.finish_reasons"] = [turn.finish_reason]
        for own, conventional in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
            if turn.usage and turn.usage.get(own) is not None:
                attributes[f"gen_ai.usage.{conventional}"] = turn.usage[own]
        if turn.version is not None:
            attributes["gem.model.version"] = turn.version
        return attributes

    def _measure(self, attributes: Mapping[str, Any], turn: Transition, seconds: float) -> None:
        of_metric = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")
        common = {name: attributes[name] for name in of_metric if name in attributes}
        if turn.act_seconds is not None:
            self._durations.record(seconds, common)
        for kind in ("input", "output"):
            if (tokens := attributes.get(f"gen_ai.usage.{kind}_tokens")) is not None:
                self._tokens.record(tokens, {**common, "gen_ai.token.type": kind})


def _provider(settings: Mapping[str, str]) -> str:
    """Return who is asked, as far as a client knows: the maker of the protocol; ``gem`` where no server is."""
    if "base_url" not in settings:
        return "gem"
    return "anthropic" if settings.get("client/protocol") == "messages" else "openai"


def _evaluated(span: Span, trajectory: Trajectory, time: int) -> None:
    """Add an event for each verdict on the episode."""
    figures = episode_figures(trajectory)
    for name in ("return", "success", *(name for name in figures if name.startswith("score/"))):
        if name in figures:
            attributes: dict[str, Any] = {
                "gen_ai.evaluation.name": name.removeprefix("score/"),
                "gen_ai.evaluation.score.value": figures[name],
            }
            if name == "success":
                attributes["gen_ai.evaluation.score.label"] = trajectory.outcome
            span.add_event("gen_ai.evaluation.result", attributes, timestamp=time)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    named = Resource.create()  # by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, or else unknown_service
    unnamed = str(named.attributes.get("service.name", "")).startswith("unknown_service")
    return named.merge(Resource({"service.name": "gem"})) if unnamed else named


def _tracers() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class SystemIds(RandomIdGenerator):
        """Draws ids from the system, and so nothing from the generator of the program."""

        def generate_span_id(self) -> int:
            return random.SystemRandom().getrandbits(64) or 1

        def generate_trace_id(self) -> int:
            return random.SystemRandom().getrandbits(128) or 1

    class Batches(SpanProcessor):
        """Sends spans in the thread of the tracker, and raises if they are not taken."""

        def __init__(self) -> None:
            self._exporter = OTLPSpanExporter()
            self._waiting: list[ReadableSpan] = []

        def on_end(self, span: ReadableSpan) -> None:
            self._waiting.append(span)
            if len(self._waiting) >= _BATCH:
                self.force_flush()

        def force_flush(self, timeout_millis: int = 30000) -> bool:
            spans, self._waiting = self._waiting, []
            if spans and self._exporter.export(spans) is not SpanExportResult.SUCCESS:
                raise RuntimeError(
                    f"{len(spans)} spans were not taken; see whether a collector runs at OTEL_EXPORTER_OTLP_ENDPOINT"
                )
            return True

        def shutdown(self) -> None:
            try:
                self.force_flush()
            finally:
                self._exporter.shutdown()

    tracers = TracerProvider(resource=_resource(), shutdown_on_exit=False, id_generator=SystemIds())
    tracers.add_span_processor(Batches())
    return tracers


def _meters() -> Any:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    return MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)
