// Gives each element that an agent may act on a number, in the order of the document, as the attribute data-ref.
// The argument: whether every visible element with a text, a shape or a colour of its own counts.
const every = arguments[0];
const ACTIVE = "a[href],button,input:not([type=hidden]),select,textarea,[role=button],[role=radio],[onclick]";
const SHAPES = new Set(["circle", "rect", "polygon", "ellipse", "path", "line", "text", "img", "canvas"]);
document.querySelectorAll("[data-ref]").forEach((element) => element.removeAttribute("data-ref"));
const short = (text) => (text || "").replace(/\s+/g, " ").trim().slice(0, 200);
const ownText = (element) =>
  short([...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.nodeValue).join(" "));
const named = (element) => {
  const label = element.labels && element.labels.length ? element.labels[0].innerText : "";
  const own = element.tagName === "SELECT" || element.tagName === "TEXTAREA" ? "" : element.innerText || element.textContent;
  return short(element.getAttribute("aria-label") || label || own || element.placeholder || element.title || element.alt);
};
const roleOf = (element) => {
  const tag = element.tagName.toLowerCase();
  if (element.getAttribute("role")) return element.getAttribute("role");
  if (tag === "a") return "link";
  if (tag === "select") return "select";
  if (tag === "textarea") return "field";
  if (tag !== "input") return tag;
  const type = element.type;
  if (type === "checkbox" || type === "radio") return type;
  return type === "submit" || type === "button" ? "button" : "field";
};
// What MiniWoB's pages put around a problem.
const FRAME = "#query,#reward-display,#sync-task-cover,#click-canvas";
const found = [];
for (const element of document.body.querySelectorAll("*")) {
  const tag = element.tagName.toLowerCase();
  if (["script", "style", "option", "head"].includes(tag)) continue;
  const active = element.matches(ACTIVE);
  const style = getComputedStyle(element);
  const painted = !element.children.length && style.backgroundColor !== "rgba(0, 0, 0, 0)";
  if (!active && !(every && (ownText(element) || SHAPES.has(tag) || element.id || painted))) continue;
  if (every && (element.closest(FRAME) || ["wrap", "area"].includes(element.id))) continue;
  const box = element.getBoundingClientRect();
  if (box.width < 1 || box.height < 1 || style.visibility === "hidden" || style.display === "none") continue;
  const ref = String(found.length + 1);
  element.setAttribute("data-ref", ref);
  const role = roleOf(element);
  const one = { ref: ref, role: role, name: active ? named(element) : ownText(element), value: "", options: [], checked: null };
  if (role === "select") {
    one.options = [...element.options].map((option) => short(option.text)).filter((text) => text);
    one.value = element.selectedIndex < 0 ? "" : short(element.options[element.selectedIndex].text);
  } else if (role === "field") one.value = element.value;
  else if (role === "checkbox" || (role === "radio" && tag === "input")) one.checked = element.checked;
  else if (element.hasAttribute("aria-checked")) one.checked = element.getAttribute("aria-checked") === "true";
  if (every && !active) {
    const paint = SHAPES.has(tag) ? element.getAttribute("fill") || "" : painted ? style.backgroundColor : "";
    one.value = short([paint, element.id ? "#" + element.id : ""].join(" "));
  }
  found.push(one);
}
return found;
