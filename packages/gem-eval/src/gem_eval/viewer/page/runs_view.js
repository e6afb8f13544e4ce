// All runs together: models by environments, in groups, and how far rewards agree.

import { overviewAddress } from "./address.js";
import { el, setContent } from "./dom.js";
import { count, counted, number, percent, whole } from "./format.js";
import { plain, visible } from "./text.js";

const GROUPS = { environment: "environment", model: "model or agent", harness: "agent program" };
const NO_HARNESS = "without an agent program";

export class RunsView {
  /**
   * @param {object} source Where the figures come from.
   * @param {Run[]} runs
   * @param {(change: object) => void} onChange Takes parameters of the address.
   */
  constructor(source, runs, onChange) {
    this.source = source;
    this.runs = runs;
    this.select = el(
      "select",
      { "aria-label": "Group by", onchange: () => onChange({ by: this.select.value }) },
      Object.entries(GROUPS).map(([value, label]) => el("option", { value }, `By ${label}`)),
    );
    this.matrix = el("div", { class: "wide-table" });
    this.groups = el("div", { class: "wide-table" });
    this.agreement = el("div", { class: "wide-table" });
    this.element = el(
      "div",
      { class: "overview" },
      el("div", { class: "title" }, el("h1", {}, counted(runs.length, "run")), el("p", { class: "about" }, "Shares with 95 % intervals that count seeds. A mean over several environments weighs each the same.")),
      this.matrix,
      el("div", { class: "filter-bar" }, this.select),
      this.groups,
      this.agreement,
    );
  }

  /** Show the groups that the parameters of the address name. */
  async show({ by = "environment" }) {
    this.by = Object.hasOwn(GROUPS, by) ? by : "environment";
    this.select.value = this.by;
    const state = this.runs.map((run) => `${run.generation} ${run.count}`).join();
    if (this.state !== state) {
      this.state = state;
      try {
        this.found = await this.source.groups();
      } catch (error) {
        setContent(this.matrix, el("p", { class: "notice bad" }, visible(plain(String(error.message), 400))));
        return;
      }
    }
    if (this.found) this.draw();
  }

  redrawColours() {}

  draw() {
    const { setups, agreement } = this.found;
    const envs = [...new Set(setups.flatMap((setup) => setup.cells.map((cell) => cell.env)))];
    setContent(this.matrix, this.matrixTable(setups, envs));
    setContent(this.groups, this.groupTable(setups, envs));
    setContent(this.agreement, agreement.length ? agreementTable(agreement) : null);
  }

  matrixTable(setups, envs) {
    const heads = ["Model", ...envs, ...(envs.length > 1 ? ["All, equal weights"] : [])];
    const rows = setups.map((setup) => {
      const cells = envs.map((env) => {
        const item = setup.cells.find((cell) => cell.env === env);
        return item ? matrixCell(item.success, item.success ? item.counted : null, this.addressOf(setup, env), item.return) : el("td", {}, "–");
      });
      if (envs.length > 1) cells.push(matrixCell(setup.overall, setup.overall?.counted ?? null));
      return el("tr", {}, el("th", { scope: "row" }, visible(plain(nameOf(setup), 80))), cells);
    });
    return el("table", { class: "matrix" },
      el("caption", {}, "Models by environments: share of solved episodes"),
      el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, visible(plain(text, 60)))))),
      el("tbody", {}, rows));
  }

  addressOf(setup, env) {
    return overviewAddress(setup.runs[0], new URLSearchParams({ env }));
  }

  groupTable(setups, envs) {
    const heads = ["", "Episodes", "Solved", "95 % interval", "Of", "Mean return", "Malformed turns", "Unknown"];
    const cells = setups.flatMap((setup) => setup.cells.map((item) => ({ setup, item })));
    cells.sort((one, other) => envs.indexOf(one.item.env) - envs.indexOf(other.item.env));
    const body = this.groupsOf(setups, envs).map(([name, isMember, mean]) => [
      el("tr", { class: "group" }, el("th", { scope: "rowgroup" }, visible(plain(name, 80))), mean ? meanCells(mean) : el("td", { colspan: heads.length - 1 })),
      cells.filter(isMember).map(({ setup, item }) => cellRow(this.by === "environment" ? nameOf(setup) : this.by === "model" ? item.env : `${setup.model}, ${item.env}`, item, this.addressOf(setup, item.env))),
    ]);
    return el("table", { class: "by-environment", "aria-label": `Results by ${GROUPS[this.by]}` },
      el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text || GROUPS[this.by])))),
      el("tbody", {}, body));
  }

  /** Name, test of its members, and mean of each group. */
  groupsOf(setups, envs) {
    if (this.by === "environment") return envs.map((env) => [env, ({ item }) => item.env === env, null]);
    if (this.by === "model") return setups.map((one) => [nameOf(one), ({ setup }) => setup === one, one.overall]);
    return this.found.harnesses.map(({ harness, overall }) => [harness ?? NO_HARNESS, ({ setup }) => setup.harness === harness, overall]);
  }
}

function nameOf(setup) {
  return setup.harness === null ? setup.model : `${setup.model} · ${setup.harness}`;
}

function interval(estimate) {
  return estimate && estimate.low !== null && estimate.high !== null ? `${percent(estimate.low)} … ${percent(estimate.high)}` : "–";
}

function matrixCell(estimate, counts, address = null, mean = null) {
  if (!estimate) return el("td", {}, mean ? [el("strong", {}, number(mean.value)), el("span", {}, "mean return")] : "–");
  const shade = Math.round(10 * estimate.value);
  const share = el("strong", {}, address ? el("a", { href: address }, percent(estimate.value)) : percent(estimate.value));
  return el("td", { class: `shade shade-${shade}` }, share, el("span", {}, interval(estimate)), el("span", {}, counts));
}

function meanCells(mean) {
  return ["", percent(mean.value), interval(mean), mean.counted, "", "", ""].map((text) => el("td", {}, text));
}

function cellRow(name, item, address) {
  const malformed = item.answers.find(([part]) => part === "malformed turns");
  const cells = [
    count(item.episodes),
    percent(item.success?.value ?? null),
    interval(item.success),
    item.success ? item.counted : "–",
    number(item.return?.value ?? null),
    malformed ? `${whole(malformed[1])} of ${whole(malformed[2])}` : "–",
    whole(item.unknown),
  ];
  return el("tr", {}, el("th", { scope: "row" }, el("a", { href: address }, visible(plain(name, 80)))), cells.map((text) => el("td", {}, text)));
}

function agreementTable(agreement) {
  const heads = ["Environment", "One reward", "Other", "Episodes", "Agree", "Cohen's kappa", "95 % interval", "Rank correlation"];
  const rows = agreement.map((pair) => [
    pair.one, pair.other, whole(pair.episodes), percent(pair.agreement), number(pair.kappa, 2),
    pair.kappa_interval ? `${number(pair.kappa_interval[0], 2)} … ${number(pair.kappa_interval[1], 2)}` : "–", number(pair.correlation, 2),
  ]);
  return el("table", { class: "by-environment" },
    el("caption", {}, "Agreement of rewards that scored the same episodes, at a threshold of 0.5"),
    el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows.map((cells, index) => el("tr", {}, el("th", { scope: "row" }, visible(plain(agreement[index].env, 60))), cells.map((text) => el("td", {}, visible(plain(text, 60))))))));
}
