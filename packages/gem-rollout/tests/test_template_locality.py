"""Which chat templates are proved to render each message from its surroundings alone."""

from __future__ import annotations

import sys

import pytest

from gem_rollout.history.template_locality import is_local

LOOP = "{% for message in messages %}{{ message.content }}{% endfor %}"

LOCAL = [
    LOOP,
    LOOP + "{% if add_generation_prompt %}<assistant>{% endif %}",
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ messages[0]['content'] | trim }}{% endif %}" + LOOP,
    LOOP + "{{ messages[-1].role }}",
    "{% if messages[0].x %}{% set messages = messages[1:] %}{% endif %}" + LOOP,
    "{% set rest = messages[1:] %}{% for m in rest %}{{ m.content }}{{ loop.first }}{% endfor %}",
    "{% for m in messages[1:] %}{{ m.content }}{% endfor %}",
    "{% if tools %}{{ tools | tojson }}" + LOOP + "{% else %}" + LOOP + "{% endif %}",
    "{% for m in messages %}{{ loop.previtem.role }}{{ loop.nextitem.role }}{{ loop.last }}{% endfor %}",
    "{% for m in messages %}{{ loop.index0 == 0 or messages[loop.index0 - 1].role }}{% endfor %}",
    "{% for m in messages %}{{ not loop.first and messages[loop.index0 - 1].role }}{% endfor %}",
    "{% for m in messages %}{{ loop.index > 1 and m.x and messages[loop.index0 - 1].role }}{% endfor %}",
    "{% for m in messages %}{{ loop.last or messages[loop.index0 + 1].role }}{% endfor %}",
    "{% for m in messages %}{{ loop.index0 % 2 == 0 }}{{ m.x is defined }}{% endfor %}",
    "{% for m in messages %}{% for p in m.content %}{{ loop.index }}{% break %}{% endfor %}{% endfor %}",
    "{% for m in messages %}{% set c = m.content.split('</think>')[-1].strip() %}{{ c }}{% endfor %}",
    "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "{% macro show(x) %}[{{ x }}]{% endmacro %}{% for m in messages %}{{ show(m.content) }}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% for t in tools %}{% set ns.n = 1 %}{% endfor %}{{ ns.n }}" + LOOP,
    "{% if messages | length == 0 %}{{ raise_exception('none') }}{% endif %}" + LOOP,
    "{% for m in messages %}{% if m.role == 'x' %}{% continue %}{% endif %}{{ m.content }}{% endfor %}",
]

NOT_LOCAL = {
    "no loop over the messages": "{{ messages[0].content }}",
    "two loops": LOOP + LOOP,
    "a filtered loop": "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
    "a reversed loop": "{% for m in messages[::-1] %}{{ m.content }}{% endfor %}",
    "the latest few": "{% for m in messages[-3:] %}{{ m.content }}{% endfor %}",
    "all but the last": "{% for m in messages[:-1] %}{{ m.content }}{% endfor %}",
    "many dropped": "{% for m in messages[3:] %}{{ m.content }}{% endfor %}",
    "dropped thrice": "{% set a = messages[1:] %}{% set b = a[1:] %}{% for m in b[1:] %}{{ m.content }}{% endfor %}",
    "the number of messages": "{{ messages | length }}" + LOOP,
    "the number in the loop": "{% for m in messages %}{{ loop.length }}{% endfor %}",
    "the number of a message": "{% for m in messages %}{{ loop.index }}{% endfor %}",
    "the distance from the end": "{% for m in messages %}{{ loop.revindex0 < 3 }}{% endfor %}",
    "an early message": "{% for m in messages %}{{ loop.index0 < 4 }}{% endfor %}",
    "every third message": "{% for m in messages %}{{ loop.index0 % 3 }}{% endfor %}",
    "one before the last": "{% for m in messages %}{{ messages[loop.index0 - 2].role }}{% endfor %}",
    "the one before, at first the last": "{% for m in messages %}{{ messages[loop.index0 - 1].x }}{% endfor %}",
    "the same behind a test that does not help": (
        "{% for m in messages %}{{ loop.first and messages[loop.index0 - 1].x }}{% endfor %}"
    ),
    "a neighbour by the wrong list": (
        "{% set rest = messages[1:] %}{% for m in rest %}{{ loop.first or messages[loop.index0 - 1].x }}{% endfor %}"
    ),
    "a neighbour by an inner loop's index": (
        "{% for m in messages %}{% for p in m.content %}{{ messages[loop.index0 + 1].x }}{% endfor %}{% endfor %}"
    ),
    "the last message before the loop": "{{ messages[-1].role }}" + LOOP,
    "the last message in the loop": "{% for m in messages %}{{ messages[-1].role }}{% endfor %}",
    "a fixed message": LOOP + "{{ messages[5].role }}",
    "a computed message": "{% set n = 5 %}" + LOOP + "{{ messages[n].role }}",
    "the list as a whole": LOOP + "{{ messages }}",
    "the list through a filter": "{% for m in messages | list %}{{ m.content }}{% endfor %}",
    "the list under another name": "{% set all = messages %}{{ all | length }}" + LOOP,
    "the list in a macro": "{% macro n() %}{{ all | length }}{% endmacro %}{% set all = messages %}{{ n() }}" + LOOP,
    "the list as an argument": "{% macro n(x) %}{{ x | length }}{% endmacro %}{{ n(messages) }}" + LOOP,
    "the loop as an argument": (
        "{% macro n(x) %}{{ x.length }}{% endmacro %}{% for m in messages %}{{ n(loop) }}{% endfor %}"
    ),
    "memory between messages": (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{% endfor %}"
    ),
    "memory in a macro": (
        "{% set ns = namespace(n=0) %}{% macro count() %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{% endmacro %}"
        "{% for m in messages %}{{ count() }}{% endfor %}"
    ),
    "memory in an inner loop": (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% for c in m.content %}{% set ns.n = 1 %}{% endfor %}"
        "{{ ns.n }}{% endfor %}"
    ),
    "memory in the loop itself": "{% for m in messages %}{{ loop.changed(m.role) }}{% endfor %}",
    "a cycle": "{% for m in messages %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %}",
    "a cycler": "{% set c = cycler('a', 'b', 'c') %}{% for m in messages %}{{ c.next() }}{% endfor %}",
    "a joiner": "{% set j = joiner(',') %}{% for m in messages %}{{ j() }}{% endfor %}",
    "arguments that are not spelt out": LOOP + "{{ range(*[1, 2]) }}",
    "a list that is changed": "{% set l = [] %}{% for m in messages %}{{ l.append(1) }}{{ l | length }}{% endfor %}",
    "chance": "{% for m in messages %}{{ ['a', 'b'] | random }}{% endfor %}",
    "a loop that is left early": "{% for m in messages %}{% if m.x %}{% break %}{% endif %}{% endfor %}",
    "a loop whose output is used": "{% set all %}" + LOOP + "{% endset %}{{ all | length }}",
    "a loop in a filter": "{% filter trim %}" + LOOP + "{% endfilter %}",
    "a loop in a macro": "{% macro show() %}" + LOOP + "{% endmacro %}{{ show() }}",
    "a loop in a loop": "{% for t in tools %}" + LOOP + "{% endfor %}",
    "a loop that is called again": "{% for m in messages recursive %}{{ loop(m.parts) }}{% endfor %}",
    "a list that is replaced": "{% set messages = messages | reject('x') | list %}" + LOOP,
    "a list that is replaced in the loop": "{% for m in messages %}{% set messages = [] %}{% endfor %}",
    "a loop variable of the same name": "{% for messages in messages %}{{ messages.content }}{% endfor %}",
    "another template": LOOP + "{% include 'other' %}",
    "what does not parse": "{% for %}",
    "an unknown tag": "{% fancy %}" + LOOP,
}


@pytest.mark.parametrize("template", LOCAL)
def test_what_depends_on_surroundings_only_is_local(template: str) -> None:
    """The message, its neighbours, the first messages, and after the loop the last."""
    assert is_local(template)


@pytest.mark.parametrize("reason", NOT_LOCAL)
def test_what_may_look_further_is_not_local(reason: str) -> None:
    """One construct each through which a message could learn of others far away."""
    assert not is_local(NOT_LOCAL[reason])


def test_endless_nesting_is_not_local() -> None:
    """A template that is too deep to walk is not taken for local, and raises nothing."""
    assert not is_local("{{ " + "(" * 100_000 + " }}")


def test_without_jinja_nothing_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then everything is rendered anew."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert not is_local(LOOP + "without jinja2")
