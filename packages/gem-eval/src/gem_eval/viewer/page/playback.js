// Plays a recording of a terminal, in the format asciicast 2 or 3, that is in the record of an episode.

import { el, setText } from "./dom.js";
import { duration } from "./format.js";
import { TerminalScreen } from "./terminal_screen.js";
import { plain } from "./text.js";

const MOST = { columns: 400, rows: 200, events: 200_000 };
const LONGEST_PAUSE = 2;

/** Return the size and the output events of a recording, with times in seconds; null where it is none. */
export function readRecording(text) {
  try {
    const [first, ...rest] = text.split("\n").filter((line) => line.trim());
    const header = JSON.parse(first);
    const size = header.version === 3 ? header.term : header;
    const columns = header.version === 3 ? size.cols : size.width;
    const rows = header.version === 3 ? size.rows : size.height;
    const whole = (number, most) => Number.isInteger(number) && number >= 1 && number <= most;
    if (![2, 3].includes(header.version) || !whole(columns, MOST.columns) || !whole(rows, MOST.rows)) return null;
    const events = [];
    let [clock, before] = [0, 0];
    for (const line of rest.slice(0, MOST.events)) {
      if (line.startsWith("#")) continue;
      const [time, kind, data] = JSON.parse(line);
      const pause = header.version === 3 ? time : time - before;
      if (!Number.isFinite(pause) || typeof data !== "string") return null;
      before = time;
      clock += Math.min(Math.max(pause, 0), LONGEST_PAUSE);
      if (kind === "o" || kind === "m") events.push({ at: clock, kind, data });
    }
    return { columns, rows, events, seconds: clock };
  } catch {
    return null;
  }
}

/** Return a player for a recording. */
export function player(recording) {
  const screen = new TerminalScreen(recording.columns, recording.rows);
  let [shown, now, timer, last] = [0, 0, null, 0];
  const picture = el("pre", { class: "screen", "aria-label": "Terminal" });
  const toggle = el("button", { type: "button", class: "plain", onclick: () => (timer === null ? play() : pause()) }, "Play");
  const slider = el("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Time", oninput: () => seek((slider.value / 1000) * recording.seconds) });
  const clock = el("span", { class: "about" });
  const label = el("span", { class: "about marker" });

  function seek(seconds) {
    now = Math.max(0, Math.min(seconds, recording.seconds));
    if (shown > 0 && recording.events[shown - 1].at > now) {
      screen.reset();
      shown = 0;
      setText(label, "");
    }
    while (shown < recording.events.length && recording.events[shown].at <= now) {
      const event = recording.events[shown++];
      if (event.kind === "o") screen.write(event.data);
      else setText(label, plain(event.data, 120));
    }
    setText(picture, plain(screen.text(), 1e6));
    setText(clock, `${duration(now)} of ${duration(recording.seconds)}`);
    slider.value = recording.seconds ? Math.round((1000 * now) / recording.seconds) : 1000;
  }

  function play() {
    if (now >= recording.seconds) seek(0);
    last = performance.now();
    timer = setInterval(tick, 40);
    setText(toggle, "Pause");
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    setText(toggle, "Play");
  }

  function tick() {
    const time = performance.now();
    seek(now + (time - last) / 1000);
    last = time;
    if (now >= recording.seconds || !picture.isConnected) pause();
  }

  seek(0);
  return el("div", { class: "playback" }, picture, el("div", { class: "controls" }, toggle, slider, clock, label));
}
