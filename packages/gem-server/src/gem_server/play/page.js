"use strict";
// Every text of an environment goes into the document through textContent, and every picture through a checked data URL.

const find = (id) => document.getElementById(id);
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

let token = "";
let socket = null;
let session = null; // {channel, env, step, waiting, seed, sum, boxed, action, before}
let channels = 0; // a new one for each session, so that no answer to the last one is taken for this one's
let environments = new Map();

function say(text, fault = false) {
  find("state").textContent = text;
  find("state").classList.toggle("fault", fault);
}

async function request(method, path) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { method, headers });
  const value = await answer.json();
  if (!answer.ok) {
    const error = new Error(value.error ? value.error.message : `status ${answer.status}`);
    error.status = answer.status;
    throw error;
  }
  return value;
}

async function connect() {
  try {
    const listed = await request("GET", "/v1/environments");
    environments = new Map(listed.environments.map((entry) => [entry.id, entry]));
    find("envs").replaceChildren(...[...environments.keys()].sort().map((id) => new Option(id, id)));
    if (!find("env").value) find("env").value = decodeURIComponent(location.hash.slice(1)) || [...environments.keys()][0] || "";
    describe();
    find("login").hidden = true;
    find("choice").hidden = false;
    say(`${environments.size} environments`);
  } catch (error) {
    find("login").hidden = error.status !== 401;
    find("choice").hidden = true;
    if (error.status === 401) {
      say(token ? "This token is not valid." : "This server needs a token.", Boolean(token));
      find("token").focus();
    } else say(`The server does not answer: ${error.message}`, true);
  }
}

function describe() {
  const entry = environments.get(find("env").value);
  find("about").textContent = entry ? entry.description : "";
}

function secret() {
  return [...crypto.getRandomValues(new Uint8Array(24))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// A ticket stands for the token once: the address of a WebSocket is logged, and a page cannot set its headers.
async function opened() {
  const query = token ? `?ticket=${encodeURIComponent((await request("POST", "/v1/ticket")).ticket)}` : "";
  const url = new URL(`/v1/socket${query}`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return new Promise((resolve, reject) => {
    const made = new WebSocket(url, "gem.v1");
    made.onopen = () => resolve(made);
    made.onerror = () => reject(new Error("no connection to the server"));
    made.onmessage = (event) => JSON.parse(event.data).forEach(take);
    made.onclose = () => lost(made);
  });
}

function lost(closed) {
  if (socket !== closed) return;
  socket = null;
  if (session) {
    session = null;
    say("The connection was lost; begin a new episode.", true);
    ready(false);
  }
}

function call(name, argument) {
  const step = name === "open" ? 0 : ++session.step;
  session.waiting.set(step, name);
  ready(false);
  socket.send(JSON.stringify([[session.channel, step, name, argument]]));
}

async function begin() {
  try {
    const env = (find("env").value || find("env").placeholder).trim();
    find("env").value = env;
    describe();
    if (!socket) socket = await opened();
    if (!session || session.env !== env) {
      if (session) socket.send(JSON.stringify([[session.channel, 0, "close"]]));
      session = { channel: ++channels, env, step: 0, waiting: new Map() };
      find("turns").replaceChildren();
      call("open", { session: secret(), env });
    } else reset();
  } catch (error) {
    session = null;
    say(error.message, true);
  }
}

// Without a seed of the player's the page draws one, so that every episode can be played again.
function reset() {
  const asked = find("seed").value.trim();
  session.seed = asked ? Number(asked) : crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
  session.sum = 0;
  session.turn = 0;
  find("turns").replaceChildren();
  location.hash = encodeURIComponent(session.env);
  call("reset", { seed: session.seed });
}

function take([channel, step, ...result]) {
  if (!session || channel !== session.channel || !session.waiting.has(step)) return;
  const name = session.waiting.get(step);
  session.waiting.delete(step);
  const failed = result[0] === "error" && result.length === 3;
  if (name === "get_state") {
    // Some environments have no state, and their malformed actions count.
    session.before = failed ? null : result[0];
    call("step", session.action);
    return;
  }
  if (failed) {
    say(`${result[1]}: ${result[2]}`, true);
    if (name === "open") session = null;
    ready(name !== "open" && name !== "reset");
    return;
  }
  if (name === "sample") {
    find("action").value = typeof result[0] === "string" ? result[0] : JSON.stringify(result[0]);
    ready(true);
    return;
  }
  if (name === "open") {
    reset();
    return;
  }
  if (name === "set_state") {
    ready(true);
    return;
  }
  const [observation, reward, terminated, truncated, info] = result;
  if (name === "step" && session.before !== null && info.action_status === "malformed") {
    show("not counted", `Not understood: ${textOf(observation).trim().split("\n", 1)[0]}`, "own fault");
    say("Your turn.");
    call("set_state", session.before);
    return;
  }
  if (name === "reset") session.boxed = textOf(observation).includes("\\boxed{");
  const over = terminated || truncated;
  session.sum += reward;
  if (name === "step") session.turn += 1;
  let title = [name === "reset" ? `${session.env}, seed ${session.seed}` : `turn ${info.turn ?? session.turn}`];
  if (name === "step") title.push(", ", amount("reward", reward));
  if (info.error) title = [`The environment failed: ${info.error}`];
  else if (over) title.push(`, ${terminated ? "the end" : "out of turns"}, `, amount("return", Number(session.sum.toPrecision(12))));
  show(title, observation, info.error ? "fault" : over ? "end" : "", info);
  say(over ? "The episode is over." : "Your turn.", Boolean(info.error));
  ready(!over);
  if (over) offerAnother();
}

function textOf(observation) {
  const parts = Array.isArray(observation) ? observation : [{ type: "text", text: observation }];
  return parts.map((part) => (part && part.type === "text" ? String(part.text) : "")).join("\n");
}

// What is paid and what is charged differ in colour, and in their sign.
function amount(word, value) {
  const text = document.createElement("span");
  text.className = value > 0 ? "gain" : value < 0 ? "cost" : "";
  text.textContent = `${word} ${value}`;
  return text;
}

function show(title, observation, kind, info) {
  const turn = document.createElement("article");
  if (kind) turn.className = kind;
  const heading = document.createElement("h2");
  heading.append(...[title].flat());
  turn.append(heading);
  const parts = Array.isArray(observation) ? observation : [{ type: "text", text: observation }];
  parts.forEach((part, index) => turn.append(shown(part, index)));
  if (info && Object.keys(info).length) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "info";
    const text = document.createElement("pre");
    text.textContent = JSON.stringify(info, null, 2);
    details.append(summary, text);
    turn.append(details);
  }
  find("turns").append(turn);
  turn.scrollIntoView({ block: "nearest" });
  // A picture has no height before it is decoded.
  for (const picture of turn.querySelectorAll("img")) picture.decode().then(() => turn.scrollIntoView({ block: "nearest" }), () => {});
}

function shown(part, index) {
  const url = part && part.type === "image_url" && part.image_url ? part.image_url.url : null;
  if (typeof url === "string" && PICTURE.test(url)) {
    const picture = document.createElement("img");
    picture.alt = `picture ${index + 1}`;
    picture.src = url;
    return picture;
  }
  const text = document.createElement("pre");
  text.textContent = part && part.type === "text" ? String(part.text) : JSON.stringify(part);
  return text;
}

function offerAnother() {
  find("answer").hidden = true;
  find("again").hidden = false;
  find("again").scrollIntoView({ block: "nearest" });
  find("another").focus();
}

function ready(playing) {
  find("answer").hidden = !session;
  find("again").hidden = true;
  for (const id of ["action", "send", "random"]) find(id).disabled = !playing;
  if (playing) find("action").focus();
}

function send() {
  if (find("send").disabled) return;
  const typed = find("action").value;
  // As in gem play: a box may be left out, and what is not understood changes nothing.
  const bare = session.boxed && typed.trim() && !typed.includes("\\boxed") && !typed.includes("```");
  session.action = bare ? `\\boxed{${typed.trim()}}` : typed;
  session.before = null;
  find("action").value = "";
  show("you", session.action, "own");
  if (find("strict").checked) call("step", session.action);
  else call("get_state", null);
}

find("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = find("token").value.trim();
  find("token").value = "";
  connect();
});
find("choice").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
find("env").addEventListener("input", describe);
// A browser offers only what fits the text of the field; an empty one offers everything.
find("env").addEventListener("focus", () => {
  find("env").placeholder = find("env").value;
  find("env").value = "";
});
find("env").addEventListener("blur", () => {
  if (!find("env").value) find("env").value = find("env").placeholder;
  describe();
});
find("again").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
find("answer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
find("action").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});
find("random").addEventListener("click", () => call("sample", null));
connect();
