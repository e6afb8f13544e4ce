"""What this package adds to GEM: commands, model clients, rewards and run trackers."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_model_clients", "gem_rewards", "gem_run_trackers"]


@hookimpl
def gem_commands() -> Named:
    """Return the commands."""
    return {
        "compare": "gem_eval.cli.compare:compare_command",
        "eval": "gem_eval.cli.eval:eval_command",
        "validate": "gem_eval.cli.validate:validate_command",
        "fake-model": "gem_eval.cli.fake_model:fake_model_command",
        "report": "gem_eval.cli.report:report_command",
        "results": "gem_eval.cli.results:results_command",
        "view": "gem_eval.cli.view:view_command",
        "ratings": "gem_eval.cli.ratings:ratings_command",
        "rescore": "gem_eval.cli.rescore:rescore_command",
        "run": "gem_eval.cli.run:run_command",
        "runs": "gem_eval.cli.runs:runs_command",
    }


@hookimpl
def gem_model_clients() -> Named:
    """Return the model clients by the scheme of their URL."""
    return {
        "http": "gem_eval.clients.endpoint:EndpointClient",
        "https": "gem_eval.clients.endpoint:EndpointClient",
        "scripted": "gem_eval.clients.scripted:ScriptedClient",
        "transformers": "gem_eval.clients.transformers_client:TransformersClient",
    }


@hookimpl
def gem_rewards() -> Named:
    """Return the rewards by name."""
    return {
        "checklist": "gem_eval.rewards.checklist:ChecklistReward",
        "environment": "gem_eval.rewards.environment:EnvironmentReward",
        "evolving_rubric": "gem_eval.rewards.evolving_rubric:EvolvingRubricReward",
        "exact": "gem_eval.rewards.exact:ExactReward",
        "group_rubric": "gem_eval.rewards.group_rubric:GroupRubricReward",
        "numeric": "gem_eval.rewards.numeric:NumericReward",
        "pairwise": "gem_eval.rewards.pairwise:PairwiseReward",
        "process": "gem_eval.rewards.process:ProcessReward",
        "rubric": "gem_eval.rewards.rubric:RubricReward",
    }


@hookimpl
def gem_run_trackers() -> Named:
    """Return the run trackers by name."""
    return {
        "jsonl": "gem_eval.trackers.jsonl:JsonlTracker",
        "mlflow": "gem_eval.trackers.mlflow:MlflowTracker",
        "opentelemetry": "gem_eval.trackers.opentelemetry:OpenTelemetryTracker",
        "tensorboard": "gem_eval.trackers.tensorboard:TensorboardTracker",
        "wandb": "gem_eval.trackers.wandb:WandbTracker",
    }
