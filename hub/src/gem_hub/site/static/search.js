// Searching the hub's index. No page is touched here, so that it runs outside a browser as well.
"use strict";

const gemSearch = (() => {
  const STOP = new Set("a an and are as at be by can do does for from has have how i in into is it its me my of on or our so than that the their them then there these they this to was we were what when where which who whose why will with you your".split(" "));
  const WEAK = new Set(["agent", "agents", "benchmark", "benchmarks", "env", "environment", "environments", "envs", "llm", "llms", "rl", "task", "tasks"]);
  const OF_WEAK = 0.2;
  // What a fit counts that is not the word itself, as in gem_hub_client.query_terms.
  const SAME_STEM = 0.9, TAG = 1, SYNONYM = 0.6, BEGINNING = 0.6, SHORT_BEGINNING = 0.3, CORRECTION = 0.8;
  const MOST_WORDS_OF_A_STEM = 8;
  const MOST_PHRASES = 24;
  // Synonyms of a word whose files are loaded where the index has many.
  const MOST_LOADED = 6;
  const MOST_WORDS = 8;
  const MOST_TYPED = 24;
  const LONGEST = 40;

  // The words of a text, folded as the index has them: no capitals, no accents, CamelCase taken apart.
  function words(text) {
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "");
    const apart = plain.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{2})(?=[0-9])/g, " ");
    // By way of capitals, so that ß becomes ss and ς becomes σ.
    const folded = apart.toUpperCase().toLowerCase().replace(/ς/g, "σ");
    return (folded.match(/[\p{L}\p{N}]+/gu) || []).map((word) => word.slice(0, LONGEST));
  }

  // The endings of Porter's algorithm, which gem_hub_client.stem explains, the longest first.
  const longestFirst = (text) => text.trim().split(/\s+/).map((pair) => pair.split("=")).sort((a, b) => b[0].length - a[0].length);
  const SECOND = longestFirst(`ational=ate tional=tion enci=ence anci=ance izer=ize bli=ble alli=al entli=ent eli=e
    ousli=ous ization=ize ation=ate ator=ate alism=al iveness=ive fulness=ful ousness=ous aliti=al iviti=ive
    biliti=ble logi=log`);
  const THIRD = longestFirst("icate=ic ative= alize=al iciti=ic ical=ic ful= ness=");
  const FOURTH = longestFirst(`al= ance= ence= er= ic= able= ible= ant= ement= ment= ent= ion= ou= ism= ate= iti= ous=
    ive= ize=`);
  const MEASURED = /^c*v+c/, TWICE = /^c*(?:v+c+){2}/, ONCE = /^c*v+c+v*$/;

  // c for each consonant and v for each vowel; y is a vowel after a consonant.
  function shape(word) {
    let made = "";
    for (const letter of word) made += "aeiou".includes(letter) || (letter === "y" && made.endsWith("c")) ? "v" : "c";
    return made;
  }

  const isShort = (word) => shape(word).endsWith("cvc") && !"wxy".includes(word.at(-1));

  function mended(base) {
    if (/(?:at|bl|iz)$/.test(base)) return base + "e";
    if (base.at(-1) === base.at(-2) && !"lsz".includes(base.at(-1)) && shape(base).endsWith("cc")) return base.slice(0, -1);
    return ONCE.test(shape(base)) && isShort(base) ? base + "e" : base;
  }

  function replaced(word, endings, condition) {
    for (const [ending, replacement] of endings) {
      if (!word.endsWith(ending)) continue;
      const base = word.slice(0, -ending.length);
      return condition.test(shape(base)) && (ending !== "ion" || /[st]$/.test(base)) ? base + replacement : word;
    }
    return word;
  }

  const stems = new Map();

  // The stem that the words of one family share.
  function stem(word) {
    if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
    let made = stems.get(word);
    if (made === undefined) stems.set(word, (made = stemmed(word)));
    return made;
  }

  function stemmed(word) {
    if (/(?:sses|ies)$/.test(word)) word = word.slice(0, -2);
    else if (/(?:^|[^s])s$/.test(word)) word = word.slice(0, -1);
    if (word.endsWith("eed")) {
      if (MEASURED.test(shape(word.slice(0, -3)))) word = word.slice(0, -1);
    } else {
      const ending = ["ed", "ing"].find((one) => word.endsWith(one));
      if (ending && shape(word.slice(0, -ending.length)).includes("v")) word = mended(word.slice(0, -ending.length));
    }
    if (word.endsWith("y") && shape(word.slice(0, -1)).includes("v")) word = word.slice(0, -1) + "i";
    word = replaced(word, SECOND, MEASURED);
    word = replaced(word, THIRD, MEASURED);
    word = replaced(word, FOURTH, TWICE);
    if (word.endsWith("e")) {
      const base = word.slice(0, -1), form = shape(base);
      if (TWICE.test(form) || (ONCE.test(form) && !isShort(base))) word = base;
    }
    return word.endsWith("ll") && TWICE.test(shape(word)) ? word.slice(0, -1) : word;
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

  function own(object, key) {
    return Object.hasOwn(object, key) ? object[key] : [];
  }

  function typedWords(query) {
    return [...new Set(words(query.slice(0, 300)))].slice(0, MOST_TYPED);
  }

  // The telling words of a query, and its meanings: groups of phrases of stems that stand for some of the words.
  function terms(query, lexicon) {
    const typed = typedWords(query);
    const telling = typed.filter((word) => !STOP.has(word));
    const chosen = (telling.length ? telling : typed).slice(0, MOST_WORDS);
    const meant = [];
    // A phrase may stand there with its small words or without those between.
    for (const reading of chosen.length === typed.length ? [typed] : [typed, chosen]) {
      const roots = reading.map(stem);
      for (let start = 0; start < roots.length; start++) {
        for (const number of own(lexicon.beginnings, roots[start])) {
          const meaning = lexicon.meanings[number];
          for (const phrase of meaning.phrases) {
            if (phrase.every((root, place) => roots[start + place] === root)) {
              meant.push([meaning, reading.slice(start, start + phrase.length).filter((word) => chosen.includes(word))]);
            }
          }
        }
      }
    }
    return { chosen, meant };
  }

  function exactKey(query) {
    return query.trim().toLowerCase();
  }

  // Each word of the query with its weight, the words that count as it, and the synonyms of several words.
  function understood({ chosen, meant }, index, known) {
    const count = (word) => own(index.words, word).length / 2;
    const families = new Map();
    for (const word of known) {
      const root = stem(word);
      if (!families.has(root)) families.set(root, []);
      families.get(root).push(word);
    }
    const wordsOf = (root) => (families.get(root) || []).sort((a, b) => count(b) - count(a) || (a < b ? -1 : 1)).slice(0, MOST_WORDS_OF_A_STEM);
    const rarity = (packages) => Math.log(1 + index.count / (1 + packages));
    const made = chosen.map((word) => ({ word, fits: new Map([[word, 1]]), phrases: [], tells: 0, weight: 0 }));
    const add = (term, word, fit) => term.fits.set(word, Math.max(fit, term.fits.get(word) || 0));
    for (const term of made) {
      for (const word of wordsOf(stem(term.word))) add(term, word, SAME_STEM);
      const packages = [...term.fits.keys()].reduce((sum, word) => sum + count(word), 0);
      if (packages) term.tells = rarity(packages);
    }
    for (const [meaning, covered] of meant) {
      for (const term of made.filter(({ word }) => covered.includes(word))) {
        if (meaning.token && count(meaning.token)) add(term, meaning.token, TAG);
        for (const phrase of meaning.phrases.slice(0, MOST_PHRASES)) {
          const places = phrase.map(wordsOf);
          if (!places.every((some) => some.length)) continue;
          if (places.length > 1) term.phrases.push(places);
          else for (const word of places[0]) add(term, word, SYNONYM);
        }
        if (!term.tells) term.tells = rarity(Math.max(0, ...[...term.fits.keys()].map(count)));
      }
    }
    const most = Math.max(...made.map(({ tells }) => tells)) || 1;
    for (const term of made) {
      term.weight = ((term.tells || most) / most) * (WEAK.has(term.word) ? OF_WEAK : 1);
      term.understood = term.phrases.length > 0 || [...term.fits.keys()].some((word) => Object.hasOwn(index.words, word));
    }
    return made;
  }

  // Add to a term the longer words that begin with it and, where nothing counts as it, its corrections.
  function completed(term, known) {
    const beginning = term.word.length > 2 ? BEGINNING : SHORT_BEGINNING;
    let longer = false;
    for (const word of known) {
      if (term.word.length > 1 && word !== term.word && word.startsWith(term.word)) {
        longer = true;
        term.fits.set(word, Math.max(beginning, term.fits.get(word) || 0));
      }
    }
    if (term.understood || longer || term.word.length < 3 || /^\d+$/.test(term.word)) return false;
    const furthest = term.word.length < 7 ? 1 : 2;
    for (const word of known) {
      if (word.length < 3 || word[0] === "0" || Math.abs(word.length - term.word.length) > furthest) continue;
      const edits = distance(term.word, word);
      if (edits <= furthest) term.fits.set(word, CORRECTION / (1 + edits));
    }
    return true;
  }

  // Package number → what one word of the query counts for it.
  function counted(term, index) {
    const best = new Map();
    const take = (number, value) => best.set(number, Math.max(best.get(number) || 0, value));
    for (const [word, fit] of term.fits) {
      const entries = own(index.words, word);
      for (let i = 0; i < entries.length; i += 2) take(entries[i], entries[i + 1] * fit);
    }
    for (const places of term.phrases) {
      let having = null;
      for (const some of places) {
        const place = new Map();
        for (const word of some) {
          const entries = own(index.words, word);
          for (let i = 0; i < entries.length; i += 2) place.set(entries[i], Math.max(entries[i + 1], place.get(entries[i]) || 0));
        }
        having = having ? new Map([...having].filter(([number]) => place.has(number)).map(([number, value]) => [number, Math.min(value, place.get(number))])) : place;
      }
      for (const [number, value] of having) take(number, value * SYNONYM);
    }
    return best;
  }

  // Package numbers with what they score, best first, and whether words had to be corrected for that.
  function rank(query, lexicon, index) {
    const asked = terms(query, lexicon);
    if (!asked.chosen.length) return { ranked: [], corrected: false, made: [] };
    const known = Object.keys(index.words);
    const made = understood(asked, index, known);
    const corrected = made.map((term) => completed(term, known)).some(Boolean);
    const sums = new Map();
    for (const term of made) {
      for (const [number, value] of counted(term, index)) {
        const [sum, told] = sums.get(number) || [0, 0];
        sums.set(number, [sum + term.weight * value, told + term.weight]);
      }
    }
    const all = made.reduce((sum, term) => sum + term.weight, 0);
    const scores = new Map([...sums].map(([number, [sum, told]]) => [number, (sum * told) / all]));
    if (made.length > 1) {
      const whole = own(index.words, made.map(({ word }) => word).join(""));
      for (let i = 0; i < whole.length; i += 2) {
        scores.set(whole[i], Math.max(scores.get(whole[i]) || 0, whole[i + 1] * made.length));
      }
    }
    const exact = own(index.exact, exactKey(query));
    for (let i = 0; i < exact.length; i += 2) scores.set(exact[i], (scores.get(exact[i]) || 0) + exact[i + 1]);
    const ranked = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return { ranked, corrected: corrected && !exact.length, made };
  }

  // What is only second choice where something else fits as well; of equals, the better tested, then the newer.
  function settled(ranked, packages) {
    const worth = ([number, score]) => {
      const found = packages.get(number);
      return Math.round(100 * score * (found.status === "active" ? 1 : 0.5) * (found.violated ? 0.9 : 1));
    };
    const order = (a, b) => {
      const [first, second] = [packages.get(a[0]), packages.get(b[0])];
      if (first.untested !== second.untested) return first.untested - second.untested;
      if (first.published !== second.published) return first.published < second.published ? 1 : -1;
      return a[0] - b[0];
    };
    return [...ranked].sort((a, b) => worth(b) - worth(a) || order(a, b));
  }

  // The words whose files a query needs of an index in many.
  function needed(query, lexicon) {
    const { chosen, meant } = terms(query, lexicon);
    const others = meant.flatMap(([{ token, phrases }]) => [token, ...phrases.slice(0, MOST_LOADED).flat()]);
    return [...chosen, chosen.join(""), exactKey(query), ...others].filter(Boolean);
  }

  // Search by a text. `read` returns a promise of the parsed file at a path below search/.
  async function search(query, read, most = 30) {
    const [index, lexicon] = await Promise.all([read("index.json"), read("lexicon.json")]);
    const found = { count: index.count, words: {}, exact: {} };
    const packages = new Map();
    if (index.shards) {
      const load = async (names) => {
        for (const part of await Promise.all(names.map((name) => read(`w/${name}.json`)))) {
          Object.assign(found.words, part.words);
          Object.assign(found.exact, part.exact);
        }
      };
      const wanted = new Set(needed(query, lexicon).map(shard));
      await load(index.shards.filter((name) => wanted.has(name)));
      const known = Object.keys(found.words);
      const unknown = understood(terms(query, lexicon), found, known)
        .filter(({ understood, word }) => !understood && !known.some((one) => one.startsWith(word)));
      await load([...new Set(unknown.flatMap(({ word }) => near(word, index.shards)))]);
    } else {
      Object.assign(found, index);
    }
    const { ranked, corrected, made } = rank(query, lexicon, found);
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
    return { total: ranked.length, corrected, hits: hits.map(([number]) => about(packages.get(number), made)) };
  }

  // A package with the environments that the query is about first.
  function about(found, made) {
    const close = ([id, description]) => {
      const having = words(`${id} ${description}`);
      return made.reduce((sum, { fits }) => sum + Math.max(0, ...having.map((word) => fits.get(word) || 0)), 0);
    };
    const weighed = found.environments.map((environment) => [close(environment), environment]);
    const matches = weighed.filter(([fit]) => fit > 0).sort((a, b) => b[0] - a[0]);
    return { ...found, matches: matches.map(([, environment]) => environment) };
  }

  return { words, distance, shard, stem, search };
})();

if (typeof module !== "undefined") module.exports = gemSearch;
