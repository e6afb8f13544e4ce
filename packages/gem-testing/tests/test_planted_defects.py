"""Each planted defect is caught by the clause that names it, and by hardly any other.

The environments are in ``planted/``, whose ``planted.toml`` says which clause has to name each defect.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_packages import planted_packages

from gem.discovery.manifest import read_specs
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem_testing import CLAUSES, ClauseOutcome, EnvUnderTest, run_clauses

PLANTED = planted_packages()
MANIFEST = PLANTED / "planted_envs" / "environments.toml"
UNDECLARED = PLANTED / "planted_undeclared" / "environments.toml"
MISSPELT = PLANTED / "planted_misspelt" / "environments.toml"

DEFECTS = {
    spec.id.partition(":")[2]: (spec, manifest)
    for manifest in (MANIFEST, UNDECLARED)
    for spec in read_specs(manifest)
    if not spec.id.startswith("healthy:")
}
REQUIREMENTS = {MANIFEST: ("gem-core", "numpy>=1.24", "spacy"), UNDECLARED: ("gem-core", "planted-envs")}

SAYS = {
    # contract
    "SwallowsArguments": r"no_such_argument=1.*name the arguments instead of \*\*kwargs",
    "CannotBeMade": r"gem\.make\('defect:CannotBeMade'\) raised ArgumentError: goal must be at least 1, got 0",
    "ResetsWithoutInfo": r"reset\(seed=0\) returned 'Turn 0.*return a pair \(observation, info\)",
    "RefusesToAbandon": r"reset\(seed=3\) raised RuntimeError: finish this episode first",
    "TakesNegativeSeeds": r"reset\(seed=-1\) was accepted; call super\(\)\.reset\(seed=seed\)",
    "TakesSmallSeeds": r"reset\(seed=4294967296\) raised ValueError.*valid seed",
    "FallsSilent": r"step 5 \(seed 0\) returned an empty observation; tell the agent",
    "ChangesKind": r"several kinds \(content parts and str\); return one kind",
    "NamesNoPicture": r"reset \(seed 0\) returned the content part \{'type': 'image'.*a part is",
    "ReturnsFour": r"step 12 .*\(seed 0\) returned \('Turn 12.*; return \(observation, reward, ",
    "LosesInfo": r"step 12 \(seed 0\) returned the info None; return a dict",
    "PaysNothingAtAll": r"step 7 \(seed 0\) returned the reward nan; return a finite float",
    "PaysInts": r"step 1 \(seed 0\) returned the reward 0, .*int; return a float",
    "PaysNumpy": r"step 1 \(seed 0\) returned the reward .*0\.0.*float32; return a float",
    "PaysAnnNothing": r"step 7 \(seed 0\) returned the reward inf; return a finite float",
    "FlagsAreNumpy": r"step 1 \(seed 0\) returned terminated=.*False_?, .*bool.*; return True or False",
    "FlagsAreInts": r"step 1 \(seed 0\) returned terminated=0, .*int; return True or False",
    "PlaysBeforeReset": r"a step before the first reset returned .*raise gem\.errors\.ResetNeededError",
    "PlaysAfterEnd": r"a step after the end at step 12 \(seed 0\) returned .*raise gem\.errors\.EpisodeFinishedError",
    "FailsAfterEnd": r"a step after the end at step 12 \(seed 0\) raised IndexError: .*; raise gem\.errors\.",
    "NeverEnds": r"had not ended after 10000 steps; limit its turns",
    "EndsLate": r"goes on after step 13, and 12 turns are announced; end it there",
    "TruncatesAlone": r"step 12 of 12 \(seed \d+\) was truncated and not terminated.*return terminated=True as well",
    "TerminatesAlone": r"step 12 of 12 \(seed \d+\) ran out of turns and was not truncated; return truncated=True",
    "SamplesMalformed": r"step 1 \(seed 0\) called the sampled action '\d+' malformed; sample well-formed actions",
    "SamplesAnything": r"one instance sampled .*and another.*draw from self\.action_rng only",
    "ClosesOnce": r"the second close\(\) .*raised ValueError.*closing what is closed does nothing",
    "SpawnShares": r"spawn\(\) returned an instance with the same generator; each needs its own self\.rng",
    "SpawnSharesList": r"spawn\(\) returned changed the first one at step \d+: .*share nothing",
    "SpawnForgets": r"spawn\(.*arguments",
    # info
    "InfoHoldsSet": r"step 12 \(seed 0\) returned info\['seen'\]=\{1, 2\}, which JSON refuses",
    "InfoHoldsTuple": r"step 1 \(seed 0\) returned info\['terms'\]=\(\d, \d\), .* back from JSON as \[.*use lists",
    "InfoKeyedByInts": r"step 1 \(seed 0\) returned info\['cards'\]=\{1: \d\}.*keys are strings",
    "CountsFromOne": r"reset \(seed 0\) returned info\['turn'\]=1; count the turns taken, which are 0",
    "SuccessIsInt": r"step 12 \(seed 0\) returned info\['success'\]=0; the key means a bool",
    "GradeIsAWordOfItsOwn": r"info\['grade'\]='good'; it is one of \('same', 'different', 'unreadable'\)",
    "UnreadableIsRight": r"info\['grade'\]='unreadable' and info\['correct'\]=True",
    "SameInfo": r"the info that reset \(seed 0\) returned was .*was changed later.*return a new object each time",
    "SameObservation": r"the observation that reset \(seed 0\) returned was .*was changed later.*return a new object",
    "InfoReachesIn": r"step 2 \(seed 0\)",
    # determinism
    "LateChance": r"seed 0 showed something else at step 7: the observation was .*draw all chance from self\.rng",
    "DropsSeed": r"seed 0 showed something else at reset: the observation was .*draw all chance from self\.rng",
    "TellsTime": r"seed 0 showed something else at step 1: the info was .*time\": \d+",
    "ShufflesDeck": r"seed 0 showed something else at reset: the observation was",
    "GetsHarder": r"instance that had (abandoned another|played the) episode.* at reset: .*start over in reset",
    "KeepsScore": r"instance that had (abandoned another|played the) episode.* right of 8\. .*start over in reset",
    "ClearsAtEnd": r"showed something else at reset: the observation was .* right of 8\. .*start over in reset",
    "ThirdEpisode": r"episode 3 of a run that began with reset\(seed=9\).*go on drawing from self\.rng",
    "UnseededFromSystem": r"episode 2 of a run that began with reset\(seed=9\).*go on drawing from self\.rng",
    "ClassHoldsQuestion": r"an instance beside others, .* at step \d+: .*nothing in the class or the module",
    "DrawsFromRandom": r"generators seeded again before each step \(seed 0\).* at step 1.*draw from self\.rng only",
    "DrawsFromNumpy": r"generators seeded again before each step \(seed 0\).* at step 1.*draw from self\.rng only",
    "SeedsRandom": r"an episode \(seed 0\) changed the state of the process's random generators.*seed nothing else",
    "SamplesFromRng": r"an action sampled before each step \(seed 0\).* at step 1.*sample from self\.action_rng",
    "SetOrder": r"PYTHONHASHSEED=\d+ .* at reset: .*do not depend on the order of a set",
    "SetOrderLate": r"PYTHONHASHSEED=\d+ .* at step 7: .*do not depend on the order of a set",
    "HashesText": r"PYTHONHASHSEED=\d+ .* at .*on hash\(\)",
    "DealsFromSet": r"PYTHONHASHSEED=\d+ .* at (reset|step \d+): .*sort what comes out of a set",
    "DependsOnProcess": r"process.* at reset: the observation was",
    "CachesQuestions": r"process.* at (reset|step \d+): the observation was",
    "SharesBuffer": r"one of 4 threads \(seed \d+\) .*share nothing between instances",
    # state
    "StateHoldsTuple": r"after 0 steps \(seed 0\) comes back from JSON with 'question' changed",
    "StateHoldsGenerator": r"after 0 steps \(seed 0\) holds something that JSON refuses: .*Random",
    "StateForgetsGenerator": r"the state after step \d+ \(seed 0\) .* at step \d+: .*; put all",
    "StateForgetsRight": r"the state after step \d+ \(seed \d+\) .* at step \d+: .* right of 8",
    "StateForgetsPass": r"the state after step \d+ \(seed 0\) .* at step \d+: the observation was",
    "StateForgetsAgents": r"the state after step \d+ \(seed \d+\) .*continued differently at step \d+",
    "SpawnDropsState": r"spawn\(same_state=True\) returned after step \d+ \(seed \d+\)",
    "StateIsAlive": r"get_state\(\) after \d+ steps \(seed 0\) returned was changed by playing on; return copies",
    "StateIsKept": r"changing a state after set_state \(seed \d+, after step \d+\) .*copy what set_state takes over",
    "TakesAnyState": r"set_state with None was accepted; raise StateError",
    "FailsOnBadState": r"set_state with None raised TypeError: .*raise StateError",
    "HalfState": r"a state without 'question' raised StateError and left a changed environment; assign last",
    "HoldsLambda": r"a pickled copy, made after step \d+ \(seed 0\): .*lambda.*keep out of the instance",
    "PickleForgets": r"a pickled copy, made after step \d+ \(seed 0\) continued differently at step \d+",
    "PickleIsReset": r"a pickled copy, made after step 6 \(seed 0\) .*Turn 7 of 12.* and is .*Turn 1 of 12",
    # residue
    "LeavesThread": r"threads run on after close \(left behind.*end them in close",
    "LeavesDescriptor": r"stay open after close \(/dev/null.*close them in close",
    "LeavesChild": r"are left after close \(cat \(pid \d+\).*end and wait for them in close",
    "ChangesDirectory": r"the working directory was changed to .*defects; use absolute paths",
    "ChangesEnvironment": r"the environment variable TOKENIZERS_PARALLELISM was unset and is 'false' now",
    "Prints": r"question: \[\d, \d\].* was printed to standard output while it played",
    "WritesPastPython": r"loading the lexicon.* was printed to standard output while it played",
    "WarnsOnStandardError": r"100%.* was printed to standard error while it played",
    "LeavesFile": r"files? (is|are) left after close \(left-behind-.*remove (it|them) in close",
    "WritesHere": r"files? (is|are) left after close \(episodes\.log\); remove (it|them) in close",
    "SilencesWarnings": r"warning filters .*ignore.* now; leave it to the program",
    "RaisesRecursionLimit": r"the recursion limit was .*1000.* and is .*000.* now; leave it to the program",
    "ConfiguresLogging": r"the handlers of the root logger .*NullHandler.* now; leave it to the program",
    "ExtendsPath": r"sys\.path was .* and is .*tests.* now; leave it to the program",
    # hostile
    "RaisesOnNone": r"step 1 \(seed 5\) raised TypeError: .* for the action None; no action may raise",
    "RaisesOnBytes": r"step 1 \(seed 5\) raised TypeError: .* for the action b'.*no action may raise",
    "RaisesOnSurrogates": r"step 1 \(seed 5\) raised UnicodeEncodeError: .*no action may raise",
    "RaisesOnToolCalls": r"step 1 \(seed 5\) raised JSONDecodeError: .* for the action \{.*'tool_calls'",
    "RaisesOnLongNumbers": r"step 1 \(seed 5\) raised ValueError: .*digits.* for the action .*9999",
    "RaisesOnForeignDigits": r"step 1 \(seed 5\) raised ValueError: invalid literal for int\(\).*no action may raise",
    "EvaluatesAnswers": r"step 1 \(seed 5\) raised SystemExit: .* for the action '.*exit\(\).*no action may raise",
    "ExitsOnEmpty": r"step 1 \(seed 5\) raised SystemExit: no answer for the action ''; no action may raise",
    "EchoesSurrogates": r"step 1 \(seed 5\) answered .* an observation that is not valid Unicode .*surrogates",
    "ParsesQuadratically": r"boxed\{.* repeated to \d+ characters took .* with a quarter of that .*linear time",
    "RecursesOnBraces": r"raised RecursionError: .* for the action '\{\{\{",
    # speed
    "SlowStep": r"step 10 \(seed \d+\) took \d+(\.\d+)? s, and its budget is 0\.01 s; .*declare step_seconds",
    "SlowReset": r"reset\(seed=3\) took \d+(\.\d+)? s, and its budget is 0\.03 s; .*declare reset_seconds",
    # manifest
    "ExemptsFromNothing": r"'determinism\.instance', which is not a clause; did you mean 'determinism\.instances'",
    "ForeignId": r"the namespace 'elsewhere', and the package claims defect, healthy; add it",
    "NoSuchModule": r"entry_point: .*importing planted_envs\.no_such_module failed",
    "NoEnvironment": r"defects\.manifest:NoEnvironment' is not a gem\.Env; derive the class from it",
    "NoSuchPolicy": r"reference_policy: .*has no attribute 'NobodyThere'",
    "PolicyWithoutAct": r"reference_policy = '.*:Answerer' has no method act",
    "LoudImport": r"importing planted_envs\.defects\.loud_import printed 'Loading the lexicon",
    "HeavyImport": r"importing planted_envs\.defects\.heavy_import loads spacy; import that inside the function",
    "ThreadImport": r"importing planted_envs\.defects\.thread_import started the thread 'prefetch'",
    "ConnectingImport": r"importing planted_envs\.defects\.connecting_import connects to .*192\.0\.2\.1",
    "ConfiguringImport": r"importing planted_envs\.defects\.configuring_import: the handlers of the root logger was",
    "Undeclared": r"planted_undeclared/prize\.py, line \d+ imports jinja2, .*does not declare that it depends",
    "SaysSingle": r'turns = "single", and an episode has 12 steps; declare turns = "multi"',
    "SaysMulti": r'turns = "multi", and \d+ episodes of one step were all seen; declare turns = "single"',
    "SaysText": r"observations hold image, and modality is \['text'\]; declare it",
    "SaysImage": r"modality declares image, which no observation .*held; remove it",
    "Connects": r"192\.0\.2\.1.* while it plays, and requires does not list 'network'",
    "LooksUpHost": r"the host search\.invalid while it plays, and requires does not list 'network'",
    "RunsDocker": r"docker .* while it plays, and requires does not list 'docker'",
    # reward
    "PaysTooMuch": r"the reference policy \(seed \d+, 8 steps\) returned 2, and reward_range is \[0, 1\]",
    "Punishes": r"\(seed \d+, 12 steps\) returned -0\.5, and reward_range is \[0, 1\]",
    "WeakPolicy": r"mean return over \d+ episodes is 0\.9\d+ \(lowest 0\.\d+ with seed \d+\), and 1 is declared",
    "PromisesTooMuch": r"mean return over \d+ episodes is 1 \(lowest 1 with seed \d+\), and 2 is declared",
    "PolicyFails": r"the reference policy raised KeyError: 'turn 6'; it must play every episode",
    "CheatsThroughModule": r"at step 1 \(seed \d+\) the reference policy chose .*it reads something else",
    "CheatsThroughInfo": r"at step 1 \(seed \d+\) the reference policy chose .*it reads something else",
    "CheatsThroughObservation": r"at step 1 \(seed \d+\) the reference policy chose .*it reads something else",
    "CheatsThroughMemory": r"at step 1 \(seed \d+\) the reference policy chose .*it reads something else",
    "PaysSilence": r"says nothing \(seed \d+, 12 steps\) got 0\.25, and the floor is 0",
    "LiesAboutSilence": r"says nothing \(seed \d+, 12 steps\) got 0, and the floor is 0\.5; correct the reward",
    "PaysWords": r"always says 'I would rather .* got 0\.5 in 1 steps? \(seed 3\); pay for right answers only",
    "PaysFormat": r"always says '.*boxed.* got 0\.12 in 12 steps \(seed 3\); pay for right answers only",
    "SaysYesOrNo": r"the rule '.*' earns 0\.\d+ of the highest reward in \d+ questions, .*thoughtless_share is 0\.4;",
    "AnswersItself": r"the rule 'the last number of the question' earns 1 of .*; ask for more than it can guess",
    "PaysLists": r"the rule 'all numbers of the question' earns 1 of the highest reward",
    "PaysAfterEnd": r"a step after the end \(seed 0, after step 12\) was rewarded with 0\.125",
}
"""A pattern that the message matches: where, with which value, what to do."""

# One manifest declares nearly all of these, so that reading it again for each would find nothing new.
IN_PROCESS = [clause.name for clause in CLAUSES.values() if not clause.processes and clause.name != "manifest.schema"]


REWARDS = {"reward.garbage", "reward.null", "reward.reference"}
BESIDE_OTHERS = {
    "contract.spawn",
    "determinism.interleaving",
    "determinism.threads",
    "state.complete",
    "state.pickle",
}

ALSO: dict[str, set[str]] = {
    "NoSuchModule": {"contract.construction"},
    "NoEnvironment": {"contract.construction"},
    "RefusesToAbandon": {"hostile.actions", "determinism.reuse"},
    "NamesNoPicture": {"hostile.actions"},
    "ReturnsFour": {"contract.ends", "contract.turn_limit", "determinism.unseeded", *REWARDS},
    "PaysNothingAtAll": {"reward.range"},
    "PaysInts": {"hostile.actions"},
    "PaysNumpy": {"hostile.actions"},
    # What each agent got is in the state, and the return of whoever plays is infinite.
    "PaysAnnNothing": {"state.json", "state.complete", "reward.range", *REWARDS},
    "FlagsAreNumpy": {"hostile.actions"},
    "FlagsAreInts": {"hostile.actions"},
    "SamplesAnything": {"determinism.global_generators", "state.complete", "state.pickle"},
    "SpawnShares": {"state.complete"},
    "SpawnSharesList": {"state.complete"},
    "SpawnForgets": {"state.complete"},
    # What each agent was told is in the state.
    "InfoKeyedByInts": {"state.json", "state.complete", "state.refusal"},
    "LateChance": {"determinism.unseeded"},
    "DropsSeed": {"determinism.unseeded"},
    "TellsTime": {"determinism.unseeded"},
    "ShufflesDeck": {"determinism.unseeded"},
    "GetsHarder": {"state.complete"},
    "ThirdEpisode": {"determinism.reuse", "state.complete", "state.pickle"},
    "UnseededFromSystem": {"state.complete", "state.pickle"},
    # Spawned, restored and pickled instances play beside the first one.
    "ClassHoldsQuestion": BESIDE_OTHERS,
    "DrawsFromRandom": {"state.unaliased", *BESIDE_OTHERS},
    "DrawsFromNumpy": {"state.unaliased", *BESIDE_OTHERS},
    "SamplesFromRng": {"determinism.unseeded"},
    "StateHoldsTuple": {"state.complete", "state.refusal"},
    "StateHoldsGenerator": {"state.complete", "state.refusal"},
    "StateForgetsGenerator": {"state.unaliased"},
    # Whoever says nothing ends the process.
    "ExitsOnEmpty": {"contract.ends", "contract.turn_limit", "reward.range", "reward.null"},
    "PaysTooMuch": {"reward.reference"},
    "PaysSilence": {"reward.garbage"},
    "PaysAfterEnd": {"contract.after_end"},
}
"""Clauses that a defect may violate besides its own, because it does break what they promise as well."""


@pytest.fixture(autouse=True)
def _process_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The planted packages can be imported, and what the defects do to the process is undone."""
    monkeypatch.syspath_prepend(str(PLANTED))  # the end of the test puts back all of sys.path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment, limit, handlers = dict(os.environ), sys.getrecursionlimit(), logging.root.handlers[:]
    yield
    os.environ.clear()
    os.environ.update(environment)
    sys.setrecursionlimit(limit)
    logging.root.handlers[:] = handlers
    if (residue := sys.modules.get("planted_envs.defects.residue")) is not None:
        residue.clean_up()


@pytest.fixture(autouse=True, scope="module")
def _modules_forgotten() -> Iterator[None]:
    """No planted module stays imported when the tests of this file are over."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(PLANTED)):
            del sys.modules[name]


def under_test(name: str) -> EnvUnderTest:
    spec, manifest = DEFECTS[name]
    namespaces = frozenset({"healthy", "defect"})
    return EnvUnderTest(spec, manifest=manifest, namespaces=namespaces, requirements=REQUIREMENTS[manifest])


IN_PROCESSES = {name for name, (spec, _) in DEFECTS.items() if CLAUSES[spec.tags[0]].processes}
"""Defects that show in other processes."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in IN_PROCESSES else []) for name in DEFECTS]
)
def test_a_planted_defect_is_caught_by_the_clause_that_names_it(name: str) -> None:
    """The clause is violated, and its message says where, with which value, and what to do."""
    (result,) = run_clauses(under_test(name), DEFECTS[name][0].tags)
    assert result.outcome is ClauseOutcome.VIOLATED, f"{result.clause} {result.outcome.value}: {result.message}"
    assert re.search(SAYS[name], result.message), result.message
    assert "\n" not in result.message


EXAMPLES = {CLAUSES[spec.tags[0]].name.partition(".")[0]: name for name, (spec, _) in reversed([*DEFECTS.items()])}
"""Group of clauses → its first planted defect."""
del EXAMPLES["speed"]  # a slow environment is slow in every clause


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in EXAMPLES.values() else pytest.mark.nightly) for name in DEFECTS]
)
def test_a_planted_defect_violates_hardly_any_other_clause(name: str) -> None:
    """One mistake is reported once, but where it does break several promises."""
    results = run_clauses(under_test(name), IN_PROCESS)
    violated = {result.clause: result.message for result in results if result.outcome is ClauseOutcome.VIOLATED}
    expected = {*DEFECTS[name][0].tags, *ALSO.get(name, ())}
    assert violated.keys() <= expected, {clause: violated[clause] for clause in violated.keys() - expected}


def test_a_manifest_with_a_misspelt_key_violates_the_clause_on_the_schema() -> None:
    """No spec can be read from it, so that the clause is asked about one that is made by hand."""
    with pytest.raises(ManifestError, match="reward_ranges"):
        read_specs(MISSPELT)
    spec = EnvSpec("defect:Misspelt", "planted_envs.healthy:Sums")
    (result,) = run_clauses(EnvUnderTest(spec, manifest=MISSPELT), ["manifest.schema"])
    assert result.outcome is ClauseOutcome.VIOLATED
    assert re.search(r"environment\[0\]\.reward_ranges", result.message), result.message


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_is_violated_by_a_planted_defect(clause: str) -> None:
    """No clause is there that nothing has shown to find anything."""
    assert any(spec.tags == (clause,) for spec, _ in DEFECTS.values())


def test_each_defect_is_a_class_of_its_own() -> None:
    """Two defects never share one."""
    lies = {"ExemptsFromNothing", "NoSuchModule"}  # about classes that are healthy, or are not there
    classes = {name: load(spec.entry_point) for name, (spec, _) in DEFECTS.items() if name not in lies}
    assert len(set(classes.values())) == len(classes) >= 45


def test_every_defect_has_a_message_that_is_expected() -> None:
    """The patterns are those of the defects there are."""
    assert SAYS.keys() == DEFECTS.keys()
    assert ALSO.keys() <= DEFECTS.keys()
