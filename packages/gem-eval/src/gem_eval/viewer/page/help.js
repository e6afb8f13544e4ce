// The list of keys, in a dialog.

import { el } from "./dom.js";

const KEYS = [
  ["Table", [["j  k", "next, previous row"], ["↓  ↑", "the same, from a row on"], ["Enter", "open the episode"], ["/", "search"]]],
  [
    "Episode",
    [
      ["j  k", "next, previous turn"],
      ["→  ←", "the same"],
      ["n  p", "next, previous episode of the table"],
      ["t", "text or tokens"],
      ["e", "show all that the agent saw, or what was new"],
      ["r", "the record as JSON"],
      ["Esc", "back to the table"],
    ],
  ],
  ["Everywhere", [["?", "this list"]]],
];

/** Make the dialog; the answer opens it. */
export function startHelp(button) {
  const close = el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
  const dialog = el(
    "dialog",
    { "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keys"),
    KEYS.map(([place, keys]) => [
      el("h3", {}, place),
      el("dl", {}, keys.map(([key, about]) => [el("dt", {}, key.split("  ").map((name) => el("kbd", {}, name))), el("dd", {}, about)])),
    ]),
    close,
  );
  document.body.append(dialog);
  const open = () => dialog.showModal();
  button.addEventListener("click", open);
  return () => (dialog.open ? dialog.close() : open());
}

/** Whether a key belongs to what is being typed. */
export function isTyping(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return true;
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
