"""Paths of the original GEM, and their places here.

Trainers import the original by path, and entry-point strings name its classes. :data:`MOVED` is the one
table of such paths; the import finder below serves it lazily, for imports and for entry points alike. A path
whose distribution is not installed raises ``ModuleNotFoundError`` with the ``pip install`` line. The finder of
:mod:`gem.core` adds to that module, once it is loaded, the old names and the :data:`MEMBERS` of every environment.

No other module knows about the original, except :mod:`gem.migration_adapters`, which holds the few classes whose
arguments have changed, and :mod:`gem.migration_seeding`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

__all__ = [
    "MEMBERS",
    "MOVED",
    "OLD_ARGUMENTS",
    "RENAMED",
    "distribution_of",
    "install",
    "moved_attribute",
    "without_old_argument",
]

_ADAPTERS = "gem.migration_adapters"
_GAMES = {
    "crosswords": "Crosswords",
    "fifteen_puzzle": "FifteenPuzzle",
    "game_2048": "Game2048",
    "guess_the_number": "GuessTheNumber",
    "hangman": "Hangman",
    "mastermind": "Mastermind",
    "minesweeper": "Minesweeper",
    "sokoban": "Sokoban",
    "sudoku": "Sudoku",
    "tower_of_hanoi": "TowerofHanoi",
    "word_search": "WordSearch",
    "wordle": "Wordle",
}


def _at(distribution: str, home: str, *names: str, **renamed: str) -> tuple[str, dict[str, str]]:
    """Return an entry of :data:`MOVED` whose names are all in one module, under the same or under new names."""
    return distribution, {old: f"{home}:{new}" for old, new in {**{name: name for name in names}, **renamed}.items()}


_MULTIAGENT = _at("gem-core", "gem.multiagent", "AgentSelector", "MultiAgentEnv")

MOVED: dict[str, tuple[str, dict[str, str]]] = {
    "gem.core": _at("gem-core", "gem.core", ActType="ActT", EnvWrapper="Wrapper", ObsType="ObsT"),
    "gem.envs.registration": (
        "gem-core",
        {
            "ENV_REGISTRY": f"{_ADAPTERS}:ENV_REGISTRY",
            "EnvSpec": "gem.env_spec:EnvSpec",
            "make": "gem.registry:make",
            "make_vec": "gem.vector:make_vec",
            "print_envs": "gem.registry:print_envs",
            "register": "gem.registry:register",
        },
    ),
    "gem.envs.multiagent": _MULTIAGENT,
    "gem.envs.multiagent.multi_agent_env": _MULTIAGENT,
    "gem.multiagent.multi_agent_env": _MULTIAGENT,
    "gem.tools.base_tool": _at("gem-core", _ADAPTERS, "BaseTool"),
    "gem.tools.tool_env_wrapper": _at("gem-core", "gem.tools", "ToolEnvWrapper"),
    "gem.utils.constants": (
        "gem-core",
        {"LanguageGameReward": f"{_ADAPTERS}:LanguageGameReward", "TERMINAL_STATE": "gem.text:TERMINAL_STATE"},
    ),
    "gem.utils.debug": _at("gem-core", _ADAPTERS, "ppprint", "run_and_print_episode", "run_and_print_episode_async"),
    "gem.utils.parsing": _at(
        "gem-core", "gem.text", "extract_code_from_model", "extract_last_boxed_answer", "extract_last_tagged_answer"
    ),
    "gem.utils.seeding": _at(
        "gem-core", "gem.migration_seeding", "RNG", "RandomNumberGenerator", "np_random", "set_seed"
    ),
    "gem.vector.async_vector_env": _at("gem-core", _ADAPTERS, "AsyncVectorEnv"),
    "gem.vector.sync_vector_env": _at("gem-core", _ADAPTERS, "SyncVectorEnv"),
    "gem.vector.vector_env": _at("gem-core", "gem.vector", "AutoresetMode", "VectorEnv"),
    "gem.wrappers.episode_tracking_wrapper": _at(
        "gem-core", "gem.wrappers.tracking", EpisodeTrackingWrapper="EpisodeTracking"
    ),
    "gem.wrappers.observation_wrapper": _at("gem-core", _ADAPTERS, "ObservationWrapper"),
    "gem.wrappers.wrapper_factory": _at("gem-core", _ADAPTERS, "WRAPPER_FACTORY", "get_wrapper_fns"),
    "gem.envs.game_env": (
        "gem-envs-games",
        {f"{name}Env": f"gem_envs_games.{module}:{name}Env" for module, name in _GAMES.items()},
    ),
    **{
        f"gem.envs.game_env.{module}": _at("gem-envs-games", f"gem_envs_games.{module}", f"{name}Env")
        for module, name in _GAMES.items()
    },
    "gem.envs.game_env.wikigame": _at("gem-envs-games", "gem_envs_games.wiki_game", "WikiGameEnv"),
    "gem.envs.math_env": _at("gem-envs-math", "gem_envs_math.migration_adapters", "MathEnv"),
    "gem.envs.math_visual_env": _at("gem-envs-math", "gem_envs_math", "MathVisualEnv"),
    "gem.envs.qa_env": _at("gem-envs-qa", "gem_envs_qa.migration_adapters", "QaEnv"),
    "gem.envs.code_env": _at("gem-envs-code", "gem_envs_code.migration_adapters", "CodeEnv"),
    "gem.envs.reasoning_gym": _at("gem-envs-reasoning", "gem_envs_reasoning.migration_adapters", "ReasoningGymEnv"),
    "gem.tools.python_code_tool": _at("gem-tools", "gem_tools.migration_adapters", "PythonCodeTool"),
    "gem.tools.search_tool": _at("gem-tools", "gem_tools.migration_adapters", "SearchTool"),
    "gem.tools.mcp_tool": _at("gem-tools", "gem_tools.migration_adapters", "MCPTool"),
    "gem.utils.math_grader": _at(
        "gem-envs-math",
        "gem_envs_math.migration_adapters",
        *("answer_tag_reward_fn", "answer_tag_reward_fn_for_orz", "boxed_reward_fn", "extract_answer"),
        *("extract_boxed_answer", "grade", "r1_distill_qwen_math_reward_fn"),
    ),
    "gem.utils.qa_em": (
        "gem-envs-qa",
        {
            "em_check": "gem_envs_qa.migration_adapters:em_check",
            "normalize_answer": "gem_envs_qa.grading:normalised",
        },
    ),
    "gem.utils.sandbox": _at("gem-tools", "gem_tools.sandbox", "run_python"),
}
"""Old module → the distribution that brings its content, and for each old name the new ``module:attribute``."""

RENAMED: dict[str, tuple[str, str]] = {
    "gem.testing": ("gem-testing", "gem_testing"),
    "gem.processes.fork_hooks": ("gem-core", "gem.fork_hooks"),
    "gem.processes.cpus": ("gem-core", "gem.cpus"),
    "gem.processes": ("gem-processes", "gem_processes"),
    "gem.vector.process": ("gem-processes", "gem_processes.process_mode"),
    "gem.vector.runner_group": ("gem-processes", "gem_processes.process_mode.runner_group"),
    "gem.vector.packing": ("gem-processes", "gem_processes.process_mode.packing"),
    "gem.vector.auto": ("gem-processes", "gem_processes.auto_mode.auto"),
    "gem.vector.step_cost": ("gem-processes", "gem_processes.auto_mode.step_cost"),
    "gem.vector.mode_choice": ("gem-processes", "gem_processes.auto_mode.mode_choice"),
    "gem.tools.call_formats": ("gem-tools", "gem_tools.call_formats"),
    "gem.wrappers.noise": ("gem-tools", "gem_tools.tool_failure"),
    "gem.rollout": ("gem-rollout", "gem_rollout"),
    "gem.trajectory": ("gem-rollout", "gem_rollout.trajectory"),
    "gem.replay": ("gem-rollout", "gem_rollout.replay"),
    "gem.speed": ("gem-rollout", "gem_rollout.speed"),
    "gem.chat_templates": ("gem-rollout", "gem_rollout.chat_templates"),
    "gem.wrappers.chat_history": ("gem-rollout", "gem_rollout.history.chat_history"),
    "gem.wrappers.chat_template": ("gem-rollout", "gem_rollout.history.chat_template"),
    "gem.wrappers.context": ("gem-rollout", "gem_rollout.history.context"),
    "gem.wrappers.template_locality": ("gem-rollout", "gem_rollout.history.template_locality"),
    "gem.wrappers.token_count": ("gem-rollout", "gem_rollout.history.token_count"),
    "gem.cli.bench": ("gem-rollout", "gem_rollout.cli.bench"),
    "gem.cli.check_template": ("gem-rollout", "gem_rollout.cli.check_template"),
    "gem.cli.replay": ("gem-rollout", "gem_rollout.cli.replay"),
    "gem.cli.rollout": ("gem-rollout", "gem_rollout.cli.rollout"),
    "gem.cli.show": ("gem-rollout", "gem_rollout.cli.show"),
    "gem.cli.data_check": ("gem-questions", "gem_questions.cli.data_check"),
    "gem.cli.data": ("gem-questions", "gem_questions.cli.data"),
    "gem.cli": ("gem-cli", "gem_cli"),
    "gem.data": ("gem-questions", "gem_questions"),
    "gem.rewards": ("gem-questions", "gem_questions.rewards"),
    "gem.thoughtless": ("gem-questions", "gem_questions.thoughtless"),
    "gem_terminal.cli.worker": ("gem-terminal-remote", "gem_terminal_remote.cli.worker"),
    "gem_terminal.engines.fleet": ("gem-terminal-remote", "gem_terminal_remote.fleet"),
    "gem_terminal.engines.kubernetes": ("gem-terminal-remote", "gem_terminal_remote.kubernetes"),
    "gem_terminal.engines.remote": ("gem-terminal-remote", "gem_terminal_remote.workers"),
}
"""Old package or module → the distribution that brings it now, and its new name; what lies in it has moved along."""

MEMBERS = frozenset(("dataset", "entry_point", "env_id", "idx", "seed", "turn_count"))
"""The members that every environment of the original had, or those with a data set; environments here have others."""

OLD_ARGUMENTS = {
    "dataset": "it has no data set to share",
    "use_mp": "grading has a time limit in every environment",
    "verbose": "use the module logging",
}
"""Argument that every environment of the original took → why one that lacks it needs none."""

_PARENTS = {module.rsplit(".", depth)[0] for module in MOVED for depth in range(1, module.count("."))} - MOVED.keys()


def distribution_of(module: str) -> str:
    """Return the distribution that brings a module of ``gem``, such as ``"gem-questions"`` for ``gem.data.rows``."""
    found = _renamed(module)
    return "gem-core" if found is None else found[0]


def _renamed(name: str) -> tuple[str, str] | None:
    """Return the distribution that brings a module of :data:`RENAMED` and its new name; None for all others."""
    if not name.startswith(("gem.", "gem_terminal.")):
        return None
    old, rest = name, ""
    while old not in RENAMED:
        old, dot, last = old.rpartition(".")
        if not dot:
            return None
        rest = f".{last}{rest}"
    distribution, new = RENAMED[old]
    return distribution, new + rest


def moved_attribute(module: str, name: str) -> Any:
    """Return the object behind a name of an old module.

    Raises:
        AttributeError: if the old module had no such name, or none that has a counterpart here.
    """
    target = MOVED.get(module, ("", {}))[1].get(name)
    if target is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    from gem.entry_points import load

    return load(target)


def without_old_argument(owner: str, kwargs: Any, name: str) -> dict[str, Any]:
    """Return arguments without one of :data:`OLD_ARGUMENTS`, and warn of it."""
    import warnings

    warnings.warn(f"{owner} ignores the argument {name!r} of gem-llm; {OLD_ARGUMENTS[name]}", stacklevel=4)
    return {other: value for other, value in kwargs.items() if other != name}


class _Member:
    """What the original's environments had under one of :data:`MEMBERS`, for classes that have nothing of the name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, env: Any, owner: type) -> Any:
        if env is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        if hasattr(owner, "__getattr__"):  # Python calls it after this error, so a wrapper asks the environment inside
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        from gem.entry_points import load

        return load(f"{_ADAPTERS}:member")(env, self.name)


class _Finder:
    """Finds the old modules of :data:`MOVED`; comes after every other finder, so real modules win."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in MOVED and name not in _PARENTS:
            return None
        from importlib.machinery import ModuleSpec

        is_package = name in _PARENTS or any(other.startswith(f"{name}.") for other in MOVED)
        return ModuleSpec(name, _Loader(), is_package=is_package)  # type: ignore[arg-type]  # an abc would cost an import


class _CoreFinder:
    """Finds :mod:`gem.core` where the other finders find it; comes before them."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "gem.core":
            return None
        import sys

        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not _CoreFinder else None  # type: ignore[arg-type]
            if spec is not None:
                spec.loader = _CoreLoader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _CoreLoader:
    """Loads :mod:`gem.core` with its own loader, and adds what code for the original looks for in it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader  # tools read sources through it
        self.loader.exec_module(module)
        module.__getattr__ = lambda name: moved_attribute(module.__name__, name)  # type: ignore[method-assign]
        for name in MEMBERS:
            setattr(module.Env, name, _Member(name))


class _RenamedFinder:
    """Finds the modules of :data:`RENAMED`; comes before every other finder.

    Otherwise a folder that the old package left behind, if only with ``__pycache__``, would win as a namespace
    package.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        found = _renamed(name)
        if found is None:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _RenamedLoader(*found), is_package=True)  # type: ignore[arg-type]


class _RenamedLoader:
    """Fills an old module with the contents of the new one.

    The old module is not an alias of the new one, because import would then search the new package's folder for the old
    name's submodules and run them a second time.
    """

    def __init__(self, distribution: str, new: str) -> None:
        self.distribution = distribution
        self.new = new

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from importlib import import_module

        try:
            new = import_module(self.new)
        except ModuleNotFoundError as error:
            if error.name == self.new.partition(".")[0]:
                raise _missing(module.__name__, self.distribution) from None
            if error.name == self.new:  # told by the old name, "from OLD import NAME" becomes the usual ImportError
                raise ModuleNotFoundError(f"No module named {module.__name__!r}", name=module.__name__) from None
            raise
        module.__doc__ = new.__doc__
        module.__all__ = list(getattr(new, "__all__", ()))  # type: ignore[attr-defined]
        module.__getattr__ = lambda name: getattr(new, name)  # type: ignore[method-assign]
        module.__dir__ = lambda: dir(new)  # type: ignore[method-assign]


class _Loader:
    """Fills an old module with a ``__getattr__`` that resolves its names on first use."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        from importlib.util import find_spec

        old = module.__name__
        distribution, names = MOVED.get(old, ("", {}))
        for top in {target.partition(":")[0].partition(".")[0] for target in names.values()}:
            if find_spec(top) is None:
                raise _missing(old, distribution)

        def resolve(name: str) -> Any:
            value = moved_attribute(old, name)
            setattr(module, name, value)
            return value

        module.__all__ = sorted(names)  # type: ignore[attr-defined]
        module.__getattr__ = resolve  # type: ignore[method-assign]


def _missing(old: str, distribution: str) -> ModuleNotFoundError:
    from gem.discovery.official import install_line
    from gem.errors import MissingPackageError

    return MissingPackageError(
        f"{old} has moved to {distribution}, which is not installed; run: {install_line(distribution)}", name=old
    )


def install() -> None:
    """Put the finders into their places; calling it again does nothing.

    Files of the original in this folder would be imported in place of what the finders serve, so they cause a warning.
    """
    import sys

    os = sys.modules.get("os")  # the interpreter's start has imported it; python -S has not, and goes without
    if os is not None and os.path.isdir(os.path.join(os.path.dirname(__file__), "envs")):
        import warnings

        from gem_command import clash

        sentence = clash(os.path.dirname(__file__))
        if sentence is not None:
            warnings.warn(sentence, stacklevel=3)
    if _Finder not in sys.meta_path:
        sys.meta_path[:0] = [_CoreFinder, _RenamedFinder]
        sys.meta_path.append(_Finder)
