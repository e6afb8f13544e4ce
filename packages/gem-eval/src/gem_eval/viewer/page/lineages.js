// The calls of an agent program to its model, as strands: chains in which each call continues the one before.

import { isObject } from "./content.js";

/** Kinds of lineages in which the program itself goes on; the others lie within them. */
const TRUNKS = new Set(["main", "compaction", "changed_history"]);

/**
 * @typedef {object} Call
 * @property {number} index Its place in the record.
 * @property {number|null} parent The call that it continues.
 * @property {any[]} messages Those that are new in its prompt.
 * @property {any} answer The model's message; null if there is none.
 * @property {number|null} turn The turns that the environment had taken before it.
 *
 * @typedef {object} Strand A lineage, or a branch of one.
 * @property {string} kind As the server says it of the lineage, or "branch".
 * @property {number} depth How many strands it lies within.
 * @property {number|null} from The call that a branch continues.
 * @property {string|null} began Why the lineage began.
 * @property {Call[]} calls
 */

/**
 * Read the calls of a record; null if it has none.
 * @returns {{strands: Strand[], calls: Call[], fault: string|null}|null}
 */
export function readLineages(record) {
  const place = isObject(record.metadata) ? record.metadata.lineages : null;
  if (place === null || place === undefined) return null;
  if (typeof record.lineage_fault === "string") return { strands: [], calls: [], fault: record.lineage_fault };
  const records = Array.isArray(place.calls) ? place.calls.filter(isObject) : [];
  const calls = records.map(callOf);
  const kinds = isObject(record.lineage_kinds) ? new Map(Object.entries(record.lineage_kinds)) : new Map();
  return { strands: inOrder(strandsOf(calls, kinds)), calls, fault: null };
}

function callOf(record, index) {
  const usage = isObject(record.usage) ? record.usage : {};
  const { parent } = record;
  return {
    index,
    parent: Number.isInteger(parent) && parent >= 0 && parent < index ? parent : null,
    messages: Array.isArray(record.messages) ? record.messages : [],
    answer: record.answer ?? null,
    began: textOf(record.began),
    tools: Array.isArray(record.tools) ? record.tools : [],
    turn: numberOf(record.turn),
    seconds: numberOf(record.seconds),
    promptTokens: numberOf(usage.prompt_tokens),
    sampledTokens: numberOf(usage.completion_tokens) ?? (Array.isArray(record.token_ids) ? record.token_ids.length : null),
    cachedTokens: numberOf(usage.cached_tokens),
    finishReason: textOf(record.finish_reason),
    model: textOf(record.model),
    dialect: textOf(record.dialect),
    version: record.version ?? null,
    exact: record.exact === true,
    error: textOf(record.error),
    metadata: isObject(record.metadata) ? record.metadata : {},
  };
}

/** Return the strands in the order in which they began, each with those that lie within it. */
function strandsOf(calls, kinds) {
  const strands = [];
  const strandOf = [];
  const continued = new Set();
  let trunk = null;
  const begin = (call, kind, within) => {
    const strand = { kind, from: call.parent, began: call.began, calls: [], inner: [], within };
    strands.push(strand);
    within?.inner.push(strand);
    return strand;
  };
  for (const call of calls) {
    let strand;
    if (call.parent === null) {
      const kind = kinds.get(String(call.index)) ?? "unknown";
      strand = begin(call, kind, TRUNKS.has(kind) ? null : trunk);
      if (TRUNKS.has(kind)) trunk = strand;
    } else if (call.answer === null || !continued.has(call.parent)) {
      // A call that failed continues nothing, and stands where it was tried.
      strand = strandOf[call.parent];
      if (call.answer !== null) continued.add(call.parent);
    } else {
      strand = begin(call, "branch", strandOf[call.parent]);
    }
    strand.calls.push(call);
    strandOf.push(strand);
  }
  return strands;
}

/** Return the strands so that each is followed by those within it. */
function inOrder(strands) {
  const found = [];
  const waiting = strands.filter((strand) => strand.within === null).reverse();
  while (waiting.length) {
    const strand = waiting.pop();
    strand.depth = strand.within === null ? 0 : strand.within.depth + 1;
    found.push(strand);
    for (let index = strand.inner.length - 1; index >= 0; index--) waiting.push(strand.inner[index]);
  }
  return found;
}

function numberOf(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function textOf(value) {
  return typeof value === "string" && value ? value : null;
}
