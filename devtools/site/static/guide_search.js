// Guides that answer a question come before Sphinx's own results, which have all of its words.
// The index is that of `gem guide QUESTION`; see gem_cli.guide_search.
{
  const SHOWN = 5;
  const stop = new Set(GUIDES.stop);
  const [MOST_TEXT, MOST_TYPED, MOST_WORDS] = GUIDES.limits;

  // As gem_hub_client.tokenize: no accents, no capitals, CamelCase taken apart.
  const wordsOf = (text) =>
    text.normalize("NFKD").replace(/\p{M}/gu, "")
      .replace(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])|([A-Za-z]{2})(?=[0-9])/g, "$& ")
      .toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

  // A form that no guide has is stemmed by Sphinx, nearly as ours are.
  const stemmer = new Stemmer();
  const stemOf = (word) => GUIDES.stems[word] ?? (word in GUIDES.tables[0] ? word : stemmer.stemWord(word));

  const termsOf = (question) => {
    const typed = [...new Set(wordsOf(question.slice(0, MOST_TEXT)))].slice(0, MOST_TYPED);
    const telling = typed.filter((word) => !stop.has(word));
    const words = (telling.length ? telling : typed).slice(0, MOST_WORDS);
    const terms = new Map();
    for (const word of words) terms.set(stemOf(word), 1);
    for (const word of words)
      for (const meaning of GUIDES.meanings[word] ?? [])
        if (!terms.has(meaning)) terms.set(meaning, GUIDES.meant);
    return terms;
  };

  const scoresOf = (table, terms) => {
    const scores = new Map();
    for (const [term, counts] of terms) {
      const texts = table[term] ?? [];
      for (let at = 0; at < texts.length; at += 2)
        scores.set(texts[at], (scores.get(texts[at]) ?? 0) + counts * texts[at + 1]);
    }
    return scores;
  };

  const bestOf = (scores, pageOf) => {
    const best = new Map();
    for (const [text, score] of scores) {
      const page = pageOf(text);
      if (score > (best.get(page)?.[0] ?? 0)) best.set(page, [score, text]);
    }
    return best;
  };

  const guidesFor = (question) => {
    const terms = termsOf(question);
    const [byPage, bySection, byQuestion] = GUIDES.tables;
    const scores = scoresOf(byPage, terms);
    const sections = bestOf(scoresOf(bySection, terms), (text) => GUIDES.sections[text][0]);
    const asked = bestOf(scoresOf(byQuestion, terms), (text) => GUIDES.asked[text]);
    for (const found of [sections, asked])
      for (const [page, [score]] of found) scores.set(page, (scores.get(page) ?? 0) + score);
    return [...scores]
      .map(([page, score]) => [page, score * GUIDES.counts[page], sections.get(page)?.[1]])
      .sort((one, other) => other[1] - one[1]);
  };

  const own = Search._performSearch;
  // Results are shown from the last to the first: [page, title, anchor, description, score, file, kind].
  Search._performSearch = (question, ...rest) => {
    const results = own(question, ...rest);
    if (termsOf(question).size < 2) return results;
    const guides = guidesFor(question).slice(0, SHOWN).map(([page, score, section]) => {
      const [name, title] = GUIDES.pages[page];
      const heading = section === undefined ? title : GUIDES.sections[section][1];
      const file = Search._index.docnames.indexOf(name);
      const place = (Search._index.alltitles[heading] ?? []).find(([place]) => place === file);
      const anchor = place?.[1] ? `#${place[1]}` : "";
      return [name, title, anchor, heading === title ? null : heading, score, `${name}.md`, "title"];
    });
    const first = new Set(guides.map(([name]) => name));
    return [...results.filter(([name]) => !first.has(name)), ...guides.reverse()];
  };
}
