// An episode as a conversation. The text of a turn is drawn when the turn comes near the window.

import { diffView } from "./diff_view.js";
import { el, setContent } from "./dom.js";
import { count, counted, date, duration, number, percent, signed } from "./format.js";
import { block, callView, details, jsonText, messageBlocks, recordedCall, valueBlocks } from "./message_view.js";
import { isMessage, isObject, messageOf } from "./content.js";
import { lineageView, markCallsOf } from "./lineage_view.js";
import { readLineages } from "./lineages.js";
import { player, readRecording } from "./playback.js";
import { readEpisode } from "./record.js";
import { plain, textBlock, visible } from "./text.js";
import { hasTokens, tokenView } from "./tokens.js";

/** Turns before and after the present one that are drawn with it. */
const NEAR = 4;

/** Faulty turns that are named one by one. */
const MOST_FAULTS = 12;

const OUTCOMES = { solved: "Solved", unsolved: "Not solved", unknown: "Unknown", scored: "Scored" };

/** Settings that hold for all episodes that are looked at. */
export const reading = { tokens: true, history: false };

export class EpisodeView {
  /**
   * @param {Run} run
   * @param {number} row The episode's row.
   * @param {(turn: number) => string} address The address of a turn.
   * @param {string|null} side "A" or "B" where two episodes are next to each other.
   */
  constructor(run, row, address, side = null) {
    this.side = side;
    this.run = run;
    this.row = row;
    this.address = address;
    this.turn = 0;
    this.raw = false;
    this.body = el("div", { class: "turns" }, el("p", { class: "waiting" }, "Loading …"));
    this.facts = el("aside", { class: "side", "aria-label": "Facts of the episode" });
    this.element = el("article", { class: "episode" }, this.body, this.facts);
    if (side) this.element.style.setProperty("--side", String(1 + "AB".indexOf(side)));
    this.watcher = new IntersectionObserver((entries) => this.drawNear(entries), { rootMargin: "1200px 0px" });
    this.sections = [];
  }

  /** Fetch and draw the episode, and go to a turn. */
  async open(turn) {
    try {
      this.record = await this.run.episode(this.row);
      this.episode = readEpisode(this.record);
    } catch (error) {
      setContent(this.body, el("p", { class: "notice bad" }, "This episode cannot be shown: ", visible(plain(String(error.message), 600))));
      return;
    }
    const lineages = readLineages(this.record);
    this.calls = lineages && lineageView(lineages, this.episode.turns.length, this.address);
    this.element.classList.toggle("with-calls", this.calls !== null);
    this.draw();
    this.go(turn);
  }

  close() {
    this.watcher.disconnect();
  }

  draw() {
    this.watcher.disconnect();
    this.drawSide();
    if (this.raw) {
      this.sections = [];
      const { lineage_kinds: kinds, lineage_fault: fault, ...recorded } = this.record; // the server's
      setContent(this.body, block("raw", "JSON", jsonText(recorded)));
      return;
    }
    const { turns, finals, failure } = this.episode;
    this.sections = turns.map((turn, index) => this.turnSection(turn, index));
    const end = el("section", { class: "turn end", "aria-label": "End" });
    end.append(...this.endBlocks(finals, failure));
    const info = Object.keys(this.episode.resetInfo).length ? el("div", { class: "extras reset" }, details("Info of the reset", () => jsonText(this.episode.resetInfo))) : null;
    setContent(this.body, info, this.sections, end);
    // Rows of the grid in which two episodes are aligned.
    info?.style.setProperty("--turn", "1");
    for (const [index, section] of [...this.sections, end].entries()) section.style.setProperty("--turn", String(index + 2));
    for (const section of this.sections) this.watcher.observe(section);
  }

  /** Go to a turn, counted from 1; 0 is the beginning. */
  go(turn) {
    if (!this.episode) return;
    this.turn = Math.max(0, Math.min(this.episode.turns.length, turn));
    for (const [index, section] of this.sections.entries()) section.classList.toggle("current", index === this.turn - 1);
    for (const link of this.facts.querySelectorAll("a.tick")) {
      const current = Number(link.dataset.turn) === this.turn;
      if (current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      if (current) link.scrollIntoView({ block: "nearest" });
    }
    if (this.calls) markCallsOf(this.calls, this.turn);
    const section = this.sections[this.turn - 1];
    if (!section) {
      if (!this.raw) window.scrollTo({ top: 0 });
      return;
    }
    // What is drawn later, above the turn, would push it away.
    for (const near of this.sections.slice(Math.max(0, this.turn - 1 - NEAR), this.turn + NEAR)) this.drawSection(near);
    section.scrollIntoView({ block: "start", behavior: "instant" });
    section.focus({ preventScroll: true });
  }

  hasLogprobs() {
    return this.episode?.turns.some((turn) => turn.logprobs !== null) ?? false;
  }

  toggleRaw() {
    this.raw = !this.raw;
    if (this.episode) this.draw();
  }

  redraw() {
    if (!this.episode) return;
    const turn = this.turn;
    this.draw();
    this.go(turn);
  }

  turnSection(turn, index) {
    const chips = [];
    if (turn.agent) chips.push(el("span", { class: "chip" }, plain(turn.agent, 40)));
    if (turn.reward) {
      const kind = turn.reward > 0 ? "good" : turn.reward < 0 ? "bad" : "";
      chips.push(el("span", { class: `chip reward ${kind}` }, `reward ${signed(turn.reward)}`));
    }
    for (const fault of turn.faults) chips.push(el("span", { class: "chip fault" }, fault));
    if (turn.terminated || turn.truncated) chips.push(el("span", { class: "chip" }, turn.terminated ? "terminated" : "truncated"));
    const facts = [];
    if (turn.completionTokens !== null) {
      facts.push(turn.promptTokens === null ? `${count(turn.completionTokens)} tokens` : `${count(turn.promptTokens)} → ${count(turn.completionTokens)} tokens`);
    }
    if (turn.finishReason && !["stop", "length"].includes(turn.finishReason)) facts.push(plain(turn.finishReason, 40));
    if (turn.actSeconds !== null) facts.push(`model ${duration(turn.actSeconds)}`);
    if (turn.stepSeconds !== null) facts.push(`environment ${duration(turn.stepSeconds)}`);
    if (turn.version !== null) facts.push(`version ${plain(String(turn.version), 40)}`);
    const head = el(
      "header",
      {},
      this.side ? el("span", { class: `side-name side-${this.side}` }, this.side) : null,
      el("h2", {}, el("a", { href: this.address(index + 1) }, `Turn ${index + 1}`)),
      chips,
      el("span", { class: "facts" }, facts.join(" · ")),
    );
    return el("section", { class: "turn", "data-index": index, tabindex: -1, "aria-label": `Turn ${index + 1}` }, head);
  }

  drawNear(entries) {
    for (const entry of entries) if (entry.isIntersecting) this.drawSection(entry.target);
  }

  drawSection(section) {
    if (section.classList.contains("drawn")) return;
    section.classList.add("drawn");
    this.watcher.unobserve(section);
    section.append(...this.turnBlocks(this.episode.turns[Number(section.dataset.index)]));
  }

  turnBlocks(turn) {
    const blocks = [...observationBlocks("Observation", turn.observation)];
    if (turn.reasoning) blocks.push(block("reasoning", "Reasoning", textBlock(turn.reasoning)));
    if (hasTokens(turn) && reading.tokens) {
      blocks.push(block("action", "Action", tokenView(turn)));
      if (isMessage(turn.action) && !turn.toolCalls.length) {
        blocks.push(...messageOf(turn.action).calls.map((call) => block("call", "Tool call", callView(call))));
      }
    } else {
      blocks.push(...actionBlocks(turn));
    }
    for (const call of turn.toolCalls) blocks.push(...recordedCall(call));
    const recording = typeof turn.info.asciicast === "string" ? readRecording(turn.info.asciicast) : null;
    if (recording) blocks.push(block("recording", "Recording", player(recording)));
    const { diff } = turn.info;
    if (typeof diff === "string" && diff) blocks.push(block("changes", "Changes", diffView(diff)));
    const { asciicast, ...rest } = turn.info;
    const info = recording ? rest : turn.info;
    const extras = [];
    if (Object.keys(info).length) extras.push(details(`Info (${summaryOf(info)})`, () => jsonText(info)));
    if (Object.keys(turn.metadata).length) extras.push(details("Call", () => jsonText(turn.metadata)));
    if (extras.length) blocks.push(el("div", { class: "extras" }, extras));
    return blocks;
  }

  endBlocks(finals, failure) {
    const blocks = [];
    for (const [agent, final] of finals) {
      if (final.added === null || final.added === "") continue;
      blocks.push(...observationBlocks(agent === null ? "Final observation" : `Final observation of ${plain(agent, 40)}`, final));
    }
    for (const earlier of this.episode.earlierFailures) blocks.push(failureBlock("Earlier attempt", earlier));
    if (failure) blocks.push(failureBlock("Failure", failure));
    for (const [name, score] of this.episode.scores) blocks.push(scoreBlock(name, score));
    return blocks;
  }

  /** Links to the turns with a fault; null without one. */
  turnsWith(fault) {
    const numbers = this.episode.turns.flatMap((turn, index) => (turn.faults.includes(fault) ? [index + 1] : []));
    if (!numbers.length) return null;
    const links = numbers.slice(0, MOST_FAULTS).flatMap((number) => [el("a", { href: this.address(number), class: "fault" }, String(number)), ", "]);
    const more = numbers.length > MOST_FAULTS ? ` and ${counted(numbers.length - MOST_FAULTS, "more turn")}` : "";
    return el("span", {}, numbers.length === 1 ? "turn " : "turns ", links.slice(0, -1), more);
  }

  drawSide() {
    const { episode, run, row } = this;
    const facts = [
      ["Outcome", outcomeBadge(run.outcome(row))],
      ["Return", number(episode.return)],
      ["Turns", number(episode.turns.length)],
      ["Stopped by", episode.stopReason],
      ["Tokens", run.completion_tokens[row] === null ? null : `${count(run.prompt_tokens[row])} → ${count(run.completion_tokens[row])}`],
      ["Time", episode.seconds === null ? null : duration(episode.seconds)],
      ["Model", run.act_seconds[row] === null ? null : duration(run.act_seconds[row])],
      ["Environment", run.step_seconds[row] === null ? null : duration(run.step_seconds[row])],
      ...["malformed", "cut off", "empty"].map((fault) => [`${fault[0].toUpperCase()}${fault.slice(1)}`, this.turnsWith(fault)]),
      ["Seed", String(run.seed[row])],
      ["Seed solved", run.groupShare(row) === null ? null : percent(run.groupShare(row))],
      ["Agent", episode.agent],
      ["Started", episode.startedAt === null ? null : date(episode.startedAt)],
    ].filter(([, value]) => value !== null && value !== undefined);
    const size = Math.max(...episode.turns.map((turn) => Math.abs(turn.reward ?? 0)), 1e-9);
    setContent(
      this.facts,
      el("dl", { class: "facts-list" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value instanceof Node ? value : visible(plain(value, 200)))])),
      el(
        "nav",
        { class: "ticks", "aria-label": "Turns" },
        episode.turns.map((turn, index) => {
          const length = el("span", { class: `length ${turn.reward < 0 ? "bad" : ""}` });
          length.style.width = `${(100 * Math.abs(turn.reward ?? 0)) / size}%`;
          return el(
            "a",
            { class: turn.faults.length ? "tick fault" : "tick", href: this.address(index + 1), "data-turn": index + 1, title: turn.faults.join(", ") || null },
            el("span", { class: "number" }, String(index + 1)),
            el("span", { class: "track" }, length),
            el("span", { class: "figure" }, turn.reward === null ? "" : signed(turn.reward)),
          );
        }),
      ),
      this.calls,
    );
  }
}

/** Return a badge with the outcome of an episode. */
export function outcomeBadge(outcome) {
  return el("span", { class: `badge ${outcome}` }, OUTCOMES[outcome]);
}

function observationBlocks(label, seen) {
  if (seen.kept === null) return valueBlocks("observation", label, seen.added);
  if (reading.history) return wholeBlocks(label, seen);
  const list = el("div", { class: "seen" });
  const expand = el(
    "button",
    { type: "button", class: "kept", onclick: () => setContent(list, wholeBlocks(label, seen)) },
    `${seen.kept} as before: show all`,
  );
  const empty = seen.added === "" || (Array.isArray(seen.added) && !seen.added.length);
  const blocks = empty ? [block("observation", label, el("p", { class: "nothing" }, "(nothing new)"))] : valueBlocks("observation", label, seen.added);
  blocks.at(-1).querySelector(".content").append(expand);
  list.append(...blocks);
  return [list];
}

/** The action as text, without what other blocks of the turn show. */
function actionBlocks(turn) {
  if (!isMessage(turn.action)) return valueBlocks("action", "Action", turn.action);
  const message = messageOf(turn.action);
  const calls = turn.toolCalls.length ? [] : message.calls;
  if (!message.parts.length && !message.reasoning && turn.toolCalls.length) return [];
  return messageBlocks("action", { ...message, reasoning: turn.reasoning ? null : message.reasoning, calls }, "Action");
}

/** All that the agent saw; a record that is broken may not say. */
function wholeBlocks(label, seen) {
  try {
    return valueBlocks("observation whole", label, seen.whole());
  } catch (error) {
    return [block("failure", label, el("p", {}, `This observation cannot be rebuilt: ${plain(String(error.message), 200)}`))];
  }
}

function failureBlock(label, failure) {
  const where = failure.turn === null ? "" : ` after ${counted(failure.turn, "turn")}`;
  return block(
    "failure",
    label,
    el("p", { class: "from" }, plain(`${failure.source}: ${failure.kind}${where}`, 200)),
    failure.message ? textBlock(failure.message) : null,
  );
}

function scoreBlock(name, score) {
  const parts = isObject(score.parts) ? Object.entries(score.parts).map(([part, value]) => `${plain(part, 60)} ${number(Number(value))}`) : [];
  const reasons = Array.isArray(score.reasons) ? score.reasons.filter((reason) => typeof reason === "string") : [];
  return block(
    "score",
    "Score",
    el("p", { class: "from" }, `${plain(name, 80)} ${typeof score.value === "number" ? number(score.value) : "–"}`, parts.length ? ` (${parts.join(", ")})` : ""),
    reasons.map((reason) => textBlock(reason)),
  );
}

function summaryOf(info) {
  const names = Object.keys(info);
  const shown = names.slice(0, 4).map((name) => plain(name, 24)).join(", ");
  return names.length > 4 ? `${shown}, …` : shown;
}
