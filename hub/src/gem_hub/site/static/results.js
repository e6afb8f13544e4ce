// Filters of the tables of results; without this script each table shows all rows.
"use strict";

(() => {
  for (const form of document.querySelectorAll("form.filters")) {
    const rows = form.closest(".board").querySelectorAll("tbody tr");
    const update = () => {
      const { harness, agent, reviewed } = form.elements;
      for (const row of rows) {
        const fits = (!harness.value || row.dataset.harness === harness.value)
          && (!agent.value || row.dataset.agent === agent.value)
          && (!reviewed.checked || row.dataset.state === "admitted");
        row.hidden = !fits;
      }
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", update);
    update();
  }
})();
