// Searching the hub's index. No page is touched here, so that it runs outside a browser as well.
"use strict";

const gemSearch = (() => {
  const STOP = new Set(["a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"]);
  const MOST_WORDS = 8;
  const LONGEST = 40;

  // The words of a text, folded as the index has them: no capitals, no accents, CamelCase taken apart.
  function words(text) {
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "");
    const apart = plain.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{2})(?=[0-9])/g, " ");
    // By way of capitals, so that ß becomes ss and ς becomes σ.
    const folded = apart.toUpperCase().toLowerCase().replace(/ς/g, "σ");
    return (folded.match(/[\p{L}\p{N}]+/gu) || []).map((word) => word.slice(0, LONGEST));
  }

  // Edits between two words: insert, delete, substitute, or swap two neighbours (optimal string alignment).
  function distance(first, second) {
    let before = [];
    let previous = Array.from({ length: second.length + 1 }, (_, place) => place);
    for (let i = 1; i <= first.length; i++) {
      const current = [i];
      for (let j = 1; j <= second.length; j++) {
        const same = first[i - 1] === second[j - 1];
        let cost = Math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1));
        if (i > 1 && j > 1 && first[i - 1] === second[j - 2] && first[i - 2] === second[j - 1]) {
          cost = Math.min(cost, before[j - 2] + 1);
        }
        current.push(cost);
      }
      before = previous;
      previous = current;
    }
    return previous[second.length];
  }

  function shard(word) {
    return (word + "__").slice(0, 2).replace(/[^a-z0-9]/g, "_");
  }

  // The shards that may have what was meant by a mistyped word: all with its first letter, since that is mostly right,
  // and those where the first letter is one too many or has changed places with the second.
  function near(word, names) {
    const others = [shard(word.slice(1)), shard(word.slice(1, 2) + word)];
    return names.filter((name) => name[0] === shard(word)[0] || others.includes(name));
  }

  // Word → what it counts as the typed word: itself 1, a longer word 0.6, a correction less.
  function fitting(typed, known) {
    const fits = new Map();
    for (const word of known) {
      if (word === typed) fits.set(word, 1);
      else if (typed.length > 1 && word.startsWith(typed)) fits.set(word, 0.6);
    }
    if (typed.length < 3 || /^\d+$/.test(typed) || fits.size) return fits;
    const furthest = typed.length < 7 ? 1 : 2;
    for (const word of known) {
      if (fits.has(word) || word.length < 3 || Math.abs(word.length - typed.length) > furthest) continue;
      const edits = distance(typed, word);
      if (edits <= furthest) fits.set(word, 0.8 / (1 + edits));
    }
    return fits;
  }

  function own(object, key) {
    return Object.hasOwn(object, key) ? object[key] : [];
  }

  function terms(query) {
    const typed = [...new Set(words(query.slice(0, 300)))].slice(0, MOST_WORDS);
    const telling = typed.filter((word) => !STOP.has(word));
    return telling.length ? telling : typed;
  }

  function exactKey(query) {
    return query.trim().toLowerCase();
  }

  // Package numbers with what they score, best first, and whether words had to be corrected for that.
  function rank(query, index) {
    const typed = terms(query);
    if (!typed.length) return { ranked: [], corrected: false };
    const known = Object.keys(index.words);
    const scores = score(typed, index, known);
    const corrected = typed.some((term) => !known.some((word) => word.startsWith(term)));
    const joined = typed.join("");
    if (typed.length > 1) {
      const whole = own(index.words, joined);
      for (let i = 0; i < whole.length; i += 2) {
        scores.set(whole[i], Math.max(scores.get(whole[i]) || 0, whole[i + 1] * typed.length));
      }
    }
    const exact = own(index.exact, exactKey(query));
    for (let i = 0; i < exact.length; i += 2) scores.set(exact[i], (scores.get(exact[i]) || 0) + exact[i + 1]);
    const ranked = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return { ranked, corrected: corrected && !exact.length };
  }

  function score(typed, index, known) {
    const sums = new Map();
    for (const term of typed) {
      const best = new Map();
      for (const [word, fit] of fitting(term, known)) {
        const entries = own(index.words, word);
        for (let i = 0; i < entries.length; i += 2) {
          best.set(entries[i], Math.max(best.get(entries[i]) || 0, entries[i + 1] * fit));
        }
      }
      for (const [number, value] of best) {
        const [sum, count] = sums.get(number) || [0, 0];
        sums.set(number, [sum + value, count + 1]);
      }
    }
    return new Map([...sums].map(([number, [sum, count]]) => [number, (sum * count) / typed.length]));
  }

  // What is only second choice where something else fits as well.
  function settled(ranked, packages) {
    const worth = (hit) => {
      const found = packages.get(hit[0]);
      return hit[1] * (found.status === "active" ? 1 : 0.5) * (found.violated ? 0.9 : 1);
    };
    return [...ranked].sort((a, b) => worth(b) - worth(a) || a[0] - b[0]);
  }

  // Search by a text. `read` returns a promise of the parsed file at a path below search/.
  async function search(query, read, most = 30) {
    const index = await read("index.json");
    const found = { words: {}, exact: {} };
    const packages = new Map();
    if (index.shards) {
      const typed = terms(query);
      const wanted = [...typed, typed.join(""), exactKey(query)].map(shard);
      const load = async (names) => {
        for (const part of await Promise.all(names.map((name) => read(`w/${name}.json`)))) {
          Object.assign(found.words, part.words);
          Object.assign(found.exact, part.exact);
        }
      };
      await load(index.shards.filter((name) => wanted.includes(name)));
      const unknown = typed.filter((term) => !fitting(term, Object.keys(found.words)).size);
      await load([...new Set(unknown.flatMap((term) => near(term, index.shards)))]);
    } else {
      Object.assign(found, index);
    }
    const { ranked, corrected } = rank(query, found);
    const best = ranked.slice(0, 2 * most);
    if (index.shards) {
      const blocks = [...new Set(best.map(([number]) => Math.floor(number / index.block)))];
      const contents = await Promise.all(blocks.map((block) => read(`p/${block}.json`)));
      const texts = new Map(blocks.map((block, place) => [block, contents[place]]));
      for (const [number] of best) {
        packages.set(number, texts.get(Math.floor(number / index.block))[number % index.block]);
      }
    } else {
      for (const [number] of best) packages.set(number, index.packages[number]);
    }
    const hits = settled(best, packages).slice(0, most);
    return { total: ranked.length, corrected, hits: hits.map(([number]) => about(packages.get(number), query)) };
  }

  // A package with the environments that the query is about first.
  function about(found, query) {
    const typed = terms(query);
    const close = ([id, description]) => {
      const having = words(`${id} ${description}`);
      const fits = typed.map((term) => Math.max(0, ...fitting(term, having).values()));
      return fits.reduce((sum, fit) => sum + fit, 0);
    };
    const weighed = found.environments.map((environment) => [close(environment), environment]);
    const matches = weighed.filter(([fit]) => fit > 0).sort((a, b) => b[0] - a[0]);
    return { ...found, matches: matches.map(([, environment]) => environment) };
  }

  return { words, distance, shard, search };
})();

if (typeof module !== "undefined") module.exports = gemSearch;
