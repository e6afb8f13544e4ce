// The record of an episode as turns. A record may come from anywhere: whatever is missing or odd is left out.

import { isObject } from "./content.js";
import { observations } from "./history.js";

/**
 * @typedef {object} Turn
 * @property {Seen} observation
 * @property {any} action
 * @property {number|null} reward
 * @property {number} tokenCount
 */

/** Read a record. */
export function readEpisode(record) {
  const transitions = (Array.isArray(record.transitions) ? record.transitions : []).filter(isObject);
  const { seen, finals } = observations(record, transitions);
  const turns = transitions.map((transition, index) => turnOf(transition, seen[index]));
  return {
    turns,
    finals,
    return: turns.reduce((total, turn) => total + (turn.reward ?? 0), 0),
    stopReason: textOf(record.stop_reason),
    failure: failureOf(record.failure),
    earlierFailures: (Array.isArray(record.earlier_failures) ? record.earlier_failures : []).map(failureOf).filter(Boolean),
    scores: isObject(record.scores) ? Object.entries(record.scores).filter(([, score]) => isObject(score)) : [],
    resetInfo: isObject(record.reset_info) ? record.reset_info : {},
    metadata: isObject(record.metadata) ? record.metadata : {},
    seconds: numberOf(record.seconds),
    startedAt: numberOf(record.started_at),
    agent: textOf(record.agent),
  };
}

function turnOf(transition, observation) {
  const tokens = Array.isArray(transition.tokens) ? transition.tokens : null;
  const tokenIds = Array.isArray(transition.token_ids) ? transition.token_ids : null;
  const usage = isObject(transition.usage) ? transition.usage : {};
  return {
    observation,
    action: transition.action,
    reasoning: textOf(transition.reasoning),
    reward: numberOf(transition.reward),
    terminated: transition.terminated === true,
    truncated: transition.truncated === true,
    info: isObject(transition.info) ? transition.info : {},
    faults: faultsOf(transition),
    toolCalls: Array.isArray(transition.tool_calls) ? transition.tool_calls : [],
    actSeconds: numberOf(transition.act_seconds),
    stepSeconds: numberOf(transition.step_seconds),
    tokens,
    tokenIds,
    tokenCount: Math.max(tokens?.length ?? 0, tokenIds?.length ?? 0),
    logprobs: Array.isArray(transition.logprobs) ? transition.logprobs.map(logprobOf) : null,
    topLogprobs: Array.isArray(transition.top_logprobs) ? transition.top_logprobs : null,
    promptTokens: numberOf(usage.prompt_tokens),
    completionTokens: numberOf(usage.completion_tokens) ?? (tokenIds ? tokenIds.length : null),
    finishReason: textOf(transition.finish_reason),
    model: textOf(transition.model),
    version: transition.version ?? null,
    agent: textOf(transition.agent),
    metadata: isObject(transition.metadata) ? transition.metadata : {},
  };
}

/** What is wrong with the action: that the environment could not read it, that it was cut, that it was left empty. */
function faultsOf({ info, finish_reason: finish, action, reasoning }) {
  const faults = [];
  if (isObject(info) && info.action_status === "malformed") faults.push("malformed");
  if (finish === "length") faults.push("cut off");
  if (typeof action === "string" && !action.trim() && reasoning) faults.push("empty");
  return faults;
}

/** A log-probability; JSON has no infinities, so that a record writes them as text. */
function logprobOf(value) {
  if (typeof value === "number") return value;
  return value === "-Infinity" ? -Infinity : null;
}

function failureOf(value) {
  if (!isObject(value)) return null;
  return {
    source: textOf(value.source) ?? "?",
    kind: textOf(value.kind) ?? "?",
    message: textOf(value.message) ?? "",
    turn: numberOf(value.turn),
  };
}

function numberOf(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function textOf(value) {
  return typeof value === "string" && value ? value : null;
}
