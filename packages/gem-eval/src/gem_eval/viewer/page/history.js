// What each observation added to the one before. A history wrapper shows the whole conversation at every turn.

import { isConversation, isMessage } from "./content.js";

/**
 * @typedef {object} Seen An observation.
 * @property {any} added What it has beyond the previous observation and the action between them.
 * @property {string|null} kept What of the previous one it repeats, in words; null if nothing.
 * @property {() => any} whole The observation itself.
 */

/**
 * Return all observations of an episode, the final one last.
 * @param {object[]} transitions
 * @param {any} final
 * @returns {Seen[]}
 */
export function observations(transitions, final) {
  const values = [...transitions.map((transition) => transition.observation), final];
  return values.map((value, index) => (index ? seen(value, values[index - 1], transitions[index - 1].action) : first(value)));
}

function first(value) {
  return { added: value, kept: null, whole: () => value };
}

function seen(value, before, action) {
  if (typeof value === "string" && typeof before === "string" && before && value.length > before.length && value.startsWith(before)) {
    return { added: afterAction(value.slice(before.length), action), kept: characters(before.length), whole: () => value };
  }
  if (isConversation(value) && isConversation(before)) {
    let same = 0;
    while (same < before.length && same < value.length && equal(before[same], value[same])) same += 1;
    if (same) {
      const added = value.slice(same);
      if (added.length > 1 && added[0].role === "assistant" && isOwn(added[0], action)) added.shift();
      return { added, kept: `${same} message${same === 1 ? "" : "s"}`, whole: () => value };
    }
  }
  return first(value);
}

function afterAction(text, action) {
  const own = typeof action === "string" ? action : isMessage(action) && typeof action.content === "string" ? action.content : "";
  const start = text.search(/\S/);
  const rest = own && text.startsWith(own, start) ? text.slice(start + own.length) : text;
  return rest.replace(/^\n+/, "");
}

function isOwn(message, action) {
  const own = isMessage(action) ? action.content : action;
  return equal(message.content ?? "", own ?? "");
}

function characters(length) {
  return `${length.toLocaleString("en")} characters`;
}

function equal(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
