// Where runs come from: the local server, or the page itself where it was exported.

import { unpack } from "./packed.js";

/** Return the source that this page has. */
export function openSource() {
  return document.getElementById("part-runs") ? new EmbeddedSource() : new ServerSource();
}

class ServerSource {
  grows = true;

  runs() {
    return answer("runs");
  }

  /** Models by environments over all runs. */
  groups() {
    return answer("groups");
  }

  /** The figures of an environment over all runs. */
  figures(env) {
    return answer(`figures?env=${encodeURIComponent(env)}`);
  }

  rows(run, from, generation) {
    return answer(`runs/${run}/rows?from=${from}&generation=${generation}`);
  }

  /** The numbers of the rows whose conversations say a text. */
  search(run, text) {
    return answer(`runs/${run}/search?text=${encodeURIComponent(text.toWellFormed?.() ?? text)}`);
  }

  /** The figures of a run whose rows came without them. */
  summary(run) {
    return answer(`runs/${run}/summary`);
  }

  episode(run, number) {
    return answer(`runs/${run}/episodes/${number}`);
  }
}

/** Parts of an exported page: deflated, in base64, each in an element of its own. */
class EmbeddedSource {
  grows = false;

  runs() {
    return part("runs");
  }

  groups() {
    return part("groups");
  }

  async figures(env) {
    this.allFigures ??= part("figures");
    return (await this.allFigures).filter((figure) => figure.env === env);
  }

  rows(run) {
    return part(`rows-${run}`);
  }

  async episode(run, number) {
    this.texts ??= part("texts");
    return part(`episode-${run}-${number}`, await this.texts);
  }
}

async function answer(path) {
  const response = await fetch(path);
  if (response.ok) return response.json();
  const body = await response.text();
  throw new Error(errorOf(body) ?? `the server answered ${response.status}`);
}

function errorOf(body) {
  try {
    return JSON.parse(body).error ?? null;
  } catch {
    return null;
  }
}

async function part(name, texts) {
  const element = document.getElementById(`part-${name}`);
  if (!element) throw new Error("this episode is not in the exported page");
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return unpack(await new Response(stream).arrayBuffer(), texts);
}
