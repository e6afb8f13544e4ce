// What a page does beyond being read: copying commands, and searching where there is a search box.
"use strict";

(() => {
  const SHOWN_IDS = 8;

  function copying(root) {
    for (const button of root.querySelectorAll("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        let said = "Copied";
        try {
          await navigator.clipboard.writeText(button.dataset.copy);
        } catch {
          getSelection().selectAllChildren(button.previousElementSibling);
          said = "Selected";
        }
        button.textContent = said;
        setTimeout(() => { button.textContent = "Copy"; }, 1600);
      });
    }
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function card(found, root) {
    const link = element("a", "", found.name);
    link.href = `${root}p/${found.name}/index.html`;
    const title = element("h3", "", link, " ", element("span", "version", found.version));
    if (found.status !== "active") title.append(" ", element("span", "state bad", found.status));
    const ids = element("ul", found.matches.length ? "ids matches" : "ids");
    const environments = found.matches.length ? found.matches : found.environments;
    for (const [id, description] of environments.slice(0, SHOWN_IDS)) {
      const item = element("li", "", element("code", "", id));
      if (found.matches.length) item.append(element("small", "", description));
      ids.append(item);
    }
    const more = environments.length - SHOWN_IDS;
    if (more > 0) ids.append(element("li", "quiet", `and ${more} more`));
    const tone = found.violated ? "bad" : found.conformance === "not tested" ? "unknown" : "good";
    const needs = found.needs.length ? `needs ${found.needs.join(", ")}` : "needs nothing special";
    const facts = element("p", "facts", element("span", `state ${tone}`, found.conformance), element("span", "", needs));
    const button = element("button", "copy", "Copy");
    button.type = "button";
    button.dataset.copy = found.install;
    button.setAttribute("aria-label", `Copy the command that installs ${found.name}`);
    const command = element("div", "command", element("code", "", found.install), button);
    return element("li", "card", title, element("p", "", found.summary), ids, facts, command);
  }

  function searching(form) {
    const root = form.dataset.root;
    const input = document.getElementById("query");
    const list = document.getElementById("list");
    const status = document.getElementById("found");
    const pages = document.querySelector(".pages");
    const whole = { items: [...list.children], status: status.textContent };
    const files = new Map();
    let latest = 0;

    function read(path) {
      if (!files.has(path)) {
        const answer = fetch(`${root}search/${path}`).then((response) => {
          if (!response.ok) throw new Error(`${path}: ${response.status}`);
          return response.json();
        });
        answer.catch(() => files.delete(path));
        files.set(path, answer);
      }
      return files.get(path);
    }

    function show(items, text) {
      list.replaceChildren(...items);
      copying(list);
      status.textContent = text;
    }

    async function update() {
      const query = input.value.trim();
      const number = ++latest;
      if (pages) pages.hidden = Boolean(query);
      remember(query);
      if (!query) {
        show(whole.items, whole.status);
        return;
      }
      try {
        const { total, corrected, hits } = await gemSearch.search(query, read);
        if (number !== latest) return;
        const count = total === 1 ? "1 package" : `${total} packages`;
        const verdict = corrected ? `${count} close to “${query}”` : `${count} for “${query}”`;
        show(hits.map((found) => card(found, root)), total ? verdict : `Nothing fits “${query}”.`);
      } catch {
        if (number !== latest) return;
        // Opened as a file, or the index is out of reach: look through what this page lists.
        const wanted = gemSearch.words(query);
        const fits = whole.items.filter((item) => {
          const having = gemSearch.words(item.textContent).join("");
          return wanted.every((word) => having.includes(word));
        });
        show(fits, `${fits.length} of the packages on this page`);
      }
    }

    function remember(query) {
      try {
        history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
      } catch {
        // A page that was opened as a file has no history to write.
      }
    }

    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", update);
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.focus();
      }
    });
    const asked = new URLSearchParams(location.search).get("q");
    if (asked) {
      input.value = asked;
      update();
    }
  }

  for (const code of document.querySelectorAll("[data-use]")) {
    const address = new URL(code.dataset.use || "./", location.href);
    code.textContent = `gem hub use ${address.origin}${address.pathname}`;
    code.nextElementSibling.dataset.copy = code.textContent;
  }
  copying(document);
  const form = document.getElementById("search");
  if (form) searching(form);
})();
