// Content, messages and tool calls as elements.

import { el } from "./dom.js";
import { callOf, isConversation, isMessage, isObject, messageOf, partsOf } from "./content.js";
import { picture } from "./pictures.js";
import { plain, textBlock, visible } from "./text.js";

/** A row of the conversation: who or what, and the content. */
export function block(kind, label, ...content) {
  return el("div", { class: `block ${kind}` }, el("div", { class: "label" }, label), el("div", { class: "content" }, content));
}

/** Return the blocks for an observation or action: one, or one for each message. */
export function valueBlocks(kind, label, value) {
  if (isConversation(value)) return value.flatMap((message) => messageBlocks(kind, messageOf(message)));
  if (isMessage(value)) return messageBlocks(kind, messageOf(value), label);
  const parts = partsOf(value);
  return [block(kind, label, parts.length ? parts.map(partView) : el("p", { class: "nothing" }, "(empty)"))];
}

/** Return the blocks of one message. */
export function messageBlocks(kind, message, label = null) {
  const name = label ?? plain(message.role, 40);
  const blocks = [];
  if (message.reasoning) blocks.push(block("reasoning", "Reasoning", textBlock(message.reasoning)));
  if (message.parts.length || !message.calls.length) {
    const from = message.name && message.role === "tool" ? el("p", { class: "from" }, visible(plain(message.name, 80))) : null;
    const content = message.parts.length ? message.parts.map(partView) : el("p", { class: "nothing" }, "(empty)");
    blocks.push(block(kind, name, from, content));
  }
  for (const call of message.calls) blocks.push(block("call", "Tool call", callView(call)));
  return blocks;
}

/** Return a tool call: the name and its arguments. */
export function callView(call) {
  return [el("p", { class: "function" }, visible(plain(call.name, 120))), argumentsView(call.arguments)];
}

/** Return the blocks of a call that a tool wrapper recorded, with its result. */
export function recordedCall(call) {
  if (!isObject(call)) return [block("call", "Tool call", jsonText(call))];
  const shown = callOf({ ...call, name: call.name ?? call.tool });
  const rest = Object.fromEntries(Object.entries(call).filter(([name]) => !["name", "tool", "arguments", "id", "function", "type", "result", "output", "error"].includes(name)));
  const result = call.result ?? call.output ?? null;
  const blocks = [block("call", "Tool call", callView(shown), Object.keys(rest).length ? details("Details", () => jsonText(rest)) : null)];
  if (result !== null) blocks.push(block("result", "Result", typeof result === "string" ? textBlock(result) : partsOf(result).map(partView)));
  if (call.error !== undefined && call.error !== null && call.error !== false) blocks.push(block("result bad", "Error", jsonText(call.error)));
  return blocks;
}

/** A value as JSON, or the text itself. */
export function jsonText(value) {
  return textBlock(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "null", "json");
}

/** Something that is drawn when it is opened. */
export function details(summary, content) {
  const element = el("details", {}, el("summary", {}, summary));
  element.addEventListener("toggle", () => element.childElementCount === 1 && element.append(...[content()].flat()), { once: true });
  return element;
}

function partView(part) {
  if (part.kind === "text") return textBlock(part.text);
  if (part.kind === "picture") return picture(part.url);
  return el("div", {}, part.name ? el("p", { class: "from" }, plain(part.name, 80)) : null, jsonText(part.value));
}

function argumentsView(value) {
  if (!isObject(value) || Object.keys(value).length > 20) return jsonText(value ?? {});
  const entries = Object.entries(value);
  if (!entries.length) return el("p", { class: "nothing" }, "(no arguments)");
  return el(
    "dl",
    { class: "arguments" },
    entries.map(([name, item]) => [el("dt", {}, visible(plain(name, 80))), el("dd", {}, jsonText(item))]),
  );
}
