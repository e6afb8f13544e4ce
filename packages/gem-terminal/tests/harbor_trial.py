"""Uses a container through Harbor's interface, with Harbor's own Python: ``python harbor_trial.py FOLDER ENGINE``."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from gem_terminal.harbor_environment import HarborEnvironment


async def trial(folder: Path, engine: str) -> dict[str, Any]:
    """Return what each operation gave."""
    paths = TrialPaths(trial_dir=folder / "trial")
    paths.mkdir()
    told: dict[str, Any] = {}
    env = HarborEnvironment(
        environment_dir=folder / "environment",
        environment_name="trial",
        session_id="trial__env",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(cpus=1, memory_mb=512, env={"OF_TASK": "yes"}),
        network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK),
        engine=engine,
    )
    await env.start(force_build=False)
    try:
        done = await env.exec('echo "$OF_TASK $MORE"; pwd; id -un; echo to-stderr >&2; exit 7', "/tmp", {"MORE": "too"})
        told["exec"] = [done.stdout, done.return_code]
        told["user"] = (await env.exec("id -un", user="nobody")).stdout
        told["stdin"] = (await env.exec("cat; echo end", timeout_sec=20)).stdout
        try:
            await env.exec("sleep 300", timeout_sec=1)
        except RuntimeError as error:
            told["timeout"] = str(error)
        told["alive"] = (await env.exec("echo alive")).stdout
        both = await asyncio.gather(*(env.exec(f"sleep 0.3; echo {number}") for number in range(4)))
        told["parallel"] = [each.stdout for each in both]
        source = folder / "source"
        (source / "in ner").mkdir(parents=True)
        (source / "in ner" / "file").write_bytes(bytes(range(256)))
        script = source / "run.sh"
        script.write_text("echo ran")
        script.chmod(0o755)
        await env.upload_dir(source, "/made/here")
        await env.upload_file(script, "/other/place/run.sh")
        told["ran"] = (await env.exec("/made/here/run.sh && /other/place/run.sh")).stdout
        hostile = (
            "cd /made/here && mkfifo pipe && ln -s /etc/passwd out && ln -s 'in ner/file' inside && ln run.sh hard"
        )
        await env.exec(hostile)
        target = folder / "target"
        try:
            await env.download_dir("/made/here", target)
        except Exception as error:  # the link that leaves the folder, as in Harbor's own environments
            told["refused"] = type(error).__name__
            await env.exec("rm /made/here/out")
            await env.download_dir("/made/here", target)
        told["back"] = (target / "in ner" / "file").read_bytes() == bytes(range(256))
        told["names"] = sorted(path.name for path in target.iterdir())
        await env.download_file("/made/here/run.sh", folder / "single" / "run.sh")
        told["single"] = (folder / "single" / "run.sh").read_text()
        for path in ("/made/here", "/missing"):
            try:
                await env.download_file(path, folder / "nothing")
            except FileNotFoundError as error:
                told.setdefault("missing", []).append(str(error))
        told["network"] = (await env.exec("cat /proc/net/dev | grep -v '^ *lo:' | tail -n +3 | wc -l")).stdout
        told["kinds"] = [await env.is_dir("/made/here"), await env.is_file("/made/here/run.sh")]
    finally:
        await env.stop(delete=True)
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(trial(Path(sys.argv[1]), sys.argv[2]))))
