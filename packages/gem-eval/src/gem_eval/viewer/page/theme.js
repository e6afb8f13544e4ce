// Light and dark: as the system has it, or as the reader chooses.

const CHOICES = ["auto", "light", "dark"];
const NAMES = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Let a button change the theme, and call back when colours change. */
export function startTheme(button, onChange) {
  let choice = stored();
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = SIGNS[choice];
    button.title = `Colours: ${NAMES[choice]}`;
    button.setAttribute("aria-label", button.title);
    onChange();
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    store(choice);
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
  apply();
}

// A page opened as a file may have no storage.
function stored() {
  try {
    const choice = localStorage.getItem("gem-theme");
    return CHOICES.includes(choice) ? choice : "auto";
  } catch {
    return "auto";
  }
}

function store(choice) {
  try {
    localStorage.setItem("gem-theme", choice);
  } catch {
    // The choice then lasts as long as the page.
  }
}
