// Furo opens its menus with labels of hidden check boxes, which the keyboard does not reach. Here they become buttons.
for (const label of document.querySelectorAll("label[for]:not(.overlay)")) {
  const box = document.getElementById(label.htmlFor);
  if (box?.type !== "checkbox") continue;
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  if (!label.textContent.trim() && box.ariaLabel) label.setAttribute("aria-label", box.ariaLabel);
  const tell = () => label.setAttribute("aria-expanded", box.checked);
  tell();
  box.addEventListener("change", tell);
  label.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    box.click();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const box of document.querySelectorAll(".sidebar-toggle:checked")) {
    box.click();
    document.querySelector(`label[for="${box.id}"]:not(.overlay)`)?.focus();
  }
});
