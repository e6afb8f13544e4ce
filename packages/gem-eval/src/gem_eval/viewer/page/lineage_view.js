// The calls of an agent program to its model as a tree; the content of a call is drawn when it is opened.

import { isMessage, messageOf } from "./content.js";
import { el } from "./dom.js";
import { count, counted, duration, whole } from "./format.js";
import { block, details, jsonText, valueBlocks } from "./message_view.js";
import { plain, textBlock, visible } from "./text.js";

/** So many strands, calls of a strand, and messages of a call are drawn at a time. */
const STRANDS = 25;
const CALLS = 40;
const MESSAGES = 50;
const DEEPEST = 6;

const KINDS = new Map(
  Object.entries({
    main: ["Main agent", "The first conversation with tools"],
    subagent: ["Subagent", "An earlier conversation goes on after its beginning, or had other tools"],
    compaction: ["After compaction", "A new conversation with the same tools, after which the earlier ones do not go on"],
    changed_history: ["Changed history", "It begins with answers of the model that are not as recorded"],
    retry: ["Retry", "It begins with the same messages as an earlier conversation"],
    side: ["Side calls", "No tools were offered"],
    unanswered: ["Unanswered", "The model gave no answer"],
    branch: ["Branch", "It continues a call that another call continues as well"],
  }),
);

/**
 * Return the tree of calls.
 * @param {ReturnType<import("./lineages.js").readLineages>} lineages
 * @param {number} turns How many turns the episode has.
 * @param {(turn: number) => string} address The address of a turn.
 */
export function lineageView(lineages, turns, address) {
  const { strands, calls, fault } = lineages;
  const view = el("section", { class: "model-calls", "aria-label": "Model calls" }, el("h2", {}, "Model calls"));
  if (fault !== null) {
    view.append(el("p", { class: "notice bad" }, "Their record cannot be read: ", visible(plain(fault, 400))));
    return view;
  }
  view.append(
    el("p", { class: "from" }, [counted(calls.length, "call"), ...sums(calls)].join(" · ")),
    inParts(strands, STRANDS, (strand) => strandView(strand, turns, address)),
  );
  return view;
}

/** Mark the calls after which the environment took a turn. */
export function markCallsOf(view, turn) {
  for (const call of view.querySelectorAll("[data-turn]")) call.classList.toggle("current", Number(call.dataset.turn) === turn);
}

function strandView(strand, turns, address) {
  const [name, meaning] = KINDS.get(strand.kind) ?? ["Lineage", ""];
  const origin = strand.from === null ? "" : ` of call ${strand.from + 1}`;
  const section = el(
    "section",
    { class: "strand", "data-kind": KINDS.has(strand.kind) ? strand.kind : null, "aria-label": `${name}${origin}` },
    el(
      "header",
      {},
      el("h3", { title: meaning }, name, origin),
      el("span", { class: "from" }, [counted(strand.calls.length, "call"), ...sums(strand.calls)].join(" · ")),
    ),
    strand.began === null ? null : el("p", { class: "from" }, "Began: ", visible(plain(strand.began, 300))),
    inParts(strand.calls, CALLS, (call) => callRow(call, strand, turns, address)),
  );
  section.style.setProperty("--depth", String(Math.min(DEEPEST, strand.depth)));
  return section;
}

function callRow(call, strand, turns, address) {
  const turn = call.turn !== null && call.turn < turns ? call.turn + 1 : null;
  const row = details(
    [
      el("span", { class: "number" }, whole(call.index + 1)),
      el("span", { class: "preview" }, call.error === null ? preview(call.answer) : el("span", { class: "chip bad" }, "error")),
      el("span", { class: "facts" }, factsOf(call)),
    ],
    () => callContent(call, strand, turn, address),
  );
  row.className = "model-call";
  if (turn !== null) row.dataset.turn = String(turn);
  return row;
}

function callContent(call, strand, turn, address) {
  const place = strand.calls.indexOf(call);
  const facts = [
    call.parent === null || strand.calls[place - 1]?.index === call.parent ? null : `continues call ${call.parent + 1}`,
    call.model === null ? null : `model ${plain(call.model, 80)}`,
    call.dialect === null ? null : `dialect ${plain(call.dialect, 40)}`,
    call.finishReason === null ? null : `ended by ${plain(call.finishReason, 40)}`,
    call.version === null ? null : `version ${plain(String(call.version), 40)}`,
    call.exact ? "continues the parent's token ids" : null,
  ].filter((fact) => fact !== null);
  const more = [];
  if (call.tools.length) more.push(details(counted(call.tools.length, "tool"), () => jsonText(call.tools)));
  if (Object.keys(call.metadata).length) more.push(details("Further data", () => jsonText(call.metadata)));
  return [
    el("p", { class: "from" }, facts.join(" · "), turn === null ? null : [facts.length ? " · " : "", el("a", { href: address(turn) }, `before turn ${turn}`)]),
    inParts(call.messages, MESSAGES, (message) => el("div", {}, valueBlocks("observation", "Message", [message]))),
    call.answer === null ? null : valueBlocks("action", "Answer", call.answer),
    call.error === null ? null : block("failure", "Error", textBlock(call.error)),
    more.length ? el("div", { class: "extras" }, more) : null,
  ]
    .flat()
    .filter((part) => part !== null);
}

/** The names of the tools that an answer calls, or its first words. */
function preview(answer) {
  if (!isMessage(answer)) return "";
  const { calls, parts } = messageOf(answer);
  if (calls.length) return plain(calls.map((call) => call.name).join(", "), 60);
  return plain(parts.find((part) => part.kind === "text")?.text.trimStart() ?? "", 60);
}

function factsOf(call) {
  const facts = [];
  if (call.promptTokens !== null || call.sampledTokens !== null) facts.push(tokens(call.promptTokens, call.sampledTokens, call.cachedTokens));
  if (call.seconds !== null) facts.push(duration(call.seconds));
  return facts.join(" · ");
}

/** What calls have taken in all. A figure that some of them lack says how many have it. */
function sums(calls) {
  const counting = calls.filter((call) => call.promptTokens !== null && call.sampledTokens !== null);
  const cached = counting.filter((call) => call.cachedTokens !== null);
  const timed = calls.filter((call) => call.seconds !== null);
  const total = (some, name) => some.reduce((sum, call) => sum + call[name], 0);
  const of = (some, all) => (some.length < all.length ? ` (of ${counted(some.length, "call")})` : "");
  const facts = [];
  if (counting.length) facts.push(`${count(total(counting, "promptTokens"))} → ${count(total(counting, "sampledTokens"))} tokens${of(counting, calls)}`);
  if (cached.length) facts.push(`${count(total(cached, "cachedTokens"))} cached${of(cached, counting)}`);
  if (timed.length) facts.push(`${duration(total(timed, "seconds"))}${of(timed, calls)}`);
  return facts;
}

function tokens(prompt, sampled, cached) {
  const shown = `${count(prompt)} → ${count(sampled)} tokens`;
  return cached === null ? shown : `${shown}, ${count(cached)} cached`;
}

/** Return an element with the first items of a list, and a button for more. */
function inParts(items, size, draw) {
  const list = el("div", { class: "in-parts" });
  const more = el("button", { type: "button", class: "more", onclick: extend });
  let shown = 0;
  function extend() {
    const end = Math.min(items.length, shown + size);
    more.remove();
    list.append(...items.slice(shown, end).map(draw));
    shown = end;
    if (shown < items.length) {
      more.textContent = `Show more (${whole(items.length - shown)} more)`;
      list.append(more);
    }
  }
  extend();
  return list;
}
