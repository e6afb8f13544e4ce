// What the agent saw at each turn, and what of it was new. A history wrapper shows the whole conversation every time;
// a record holds each observation as an edit of the one before, and the edit says what was added.

import { applyEdit } from "./edits.js";
import { isObject } from "./content.js";
import { counted } from "./format.js";

/**
 * @typedef {object} Seen An observation.
 * @property {any} added What it has beyond the observation before and the action between them.
 * @property {string|null} kept What it repeats, in words; null if nothing.
 * @property {() => any} whole The observation itself.
 */

/**
 * Return the observations of the turns, and the final ones by agent (null where there is one agent).
 * @param {object} record
 * @param {object[]} transitions
 * @returns {{seen: Seen[], finals: [string|null, Seen][]}}
 */
export function observations(record, transitions) {
  const tracks = new Map();
  const trackOf = (agent) => {
    if (!tracks.has(agent)) tracks.set(agent, new Track());
    return tracks.get(agent);
  };
  const seen = transitions.map((transition) => {
    const track = trackOf(transition.agent ?? null);
    const observed = track.add(editOf(transition, "observation"));
    track.action = transition.action;
    return observed;
  });
  const finals = isObject(record.final_observations)
    ? Object.entries(record.final_observations).filter(([, edit]) => isObject(edit))
    : [[null, editOf(record, "final_observation")]];
  return { seen, finals: finals.map(([agent, edit]) => [agent, trackOf(agent).add(edit)]) };
}

function editOf(holder, name) {
  const edit = holder[`${name}_edit`];
  return isObject(edit) ? edit : { value: holder[name] ?? null };
}

/** The observations of one agent. */
class Track {
  constructor() {
    this.edits = [];
    this.actions = [];
    /** The action since the last observation. */
    this.action = null;
    /** Role and type of each item of the last observation, if it is a list. */
    this.heads = [];
    this.latest = null;
  }

  /** @returns {Seen} */
  add(edit) {
    const index = this.edits.push(edit) - 1;
    this.actions.push(this.action);
    const whole = () => this.value(index);
    if (Array.isArray(edit.text)) return { ...addedText(edit.text), whole };
    if (Array.isArray(edit.list)) {
      const { added, kept, heads } = addedItems(edit.list, this.heads);
      this.heads = heads;
      return { added, kept, whole };
    }
    this.heads = Array.isArray(edit.value) ? edit.value.map(headOf) : [];
    return { added: edit.value, kept: null, whole };
  }

  /** Rebuild an observation from the edits up to it. */
  value(index) {
    let start = index;
    while (start > 0 && !("value" in this.edits[start]) && this.latest?.index !== start) start -= 1;
    let value = this.latest?.index === start ? this.latest.value : applyEdit(this.edits[start], null, null);
    for (let at = start + 1; at <= index; at++) value = applyEdit(this.edits[at], value, this.actions[at]);
    this.latest = { index, value };
    return value;
  }
}

function addedText(pieces) {
  const literals = pieces.filter((piece) => typeof piece === "string");
  const copied = pieces.filter((piece) => Array.isArray(piece) && piece[0] !== "action");
  const length = copied.reduce((total, [start, end]) => total + (end - start), 0);
  return { added: literals.join("").replace(/^\n+|\n+$/g, ""), kept: length ? counted(length, "character") : null };
}

function addedItems(pieces, before) {
  const added = [];
  const heads = [];
  let kept = 0;
  for (const piece of pieces) {
    if (!Array.isArray(piece)) {
      const items = Array.isArray(piece?.items) ? piece.items : [changedItem(piece, before)];
      added.push(...items);
      heads.push(...items.map(headOf));
    } else if (piece[0] === "action") {
      heads.push({ role: "assistant" });
    } else {
      const same = before.slice(piece[0], piece[1]);
      kept += same.length;
      heads.push(...same);
    }
  }
  const noun = heads.some(({ role }) => role) ? "message" : "part";
  return { added, heads, kept: kept ? counted(kept, noun) : null };
}

/** What is new in an item that is changed. */
function changedItem(piece, before) {
  const head = piece?.of === "action" ? { role: "assistant" } : before[piece?.of] ?? {};
  const fields = isObject(piece?.fields) ? Object.entries(piece.fields) : [];
  return { ...head, ...Object.fromEntries(fields.map(([name, edit]) => [name, addedValue(edit)])) };
}

function addedValue(edit) {
  if (Array.isArray(edit?.text)) return addedText(edit.text).added;
  if (Array.isArray(edit?.list)) return addedItems(edit.list, []).added;
  return edit?.value ?? null;
}

function headOf(item) {
  const { role, type } = isObject(item) ? item : {};
  return { ...(typeof role === "string" ? { role } : {}), ...(typeof type === "string" ? { type } : {}) };
}