// The faults of the page that is shown, as a list of sentences. An expression, for the browser's DevTools protocol.
(() => {
  const faults = new Set();
  for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
  const width = document.documentElement.clientWidth;
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const name = (element) => {
    const kind = typeof element.className === "string" && element.className ? `.${element.className.trim().replace(/\s+/g, ".")}` : "";
    const text = (element.innerText ?? element.textContent ?? "").trim().slice(0, 40);
    return `${element.localName}${kind} ${JSON.stringify(text)}`;
  };

  // Nothing is wider than the screen, except inside what scrolls.
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1) && shown(element) && !scrolls(element))
      faults.add(`${name(element)} reaches from ${Math.round(box.left)} to ${Math.round(box.right)} of ${width} pixels`);
  }
  if (document.documentElement.scrollWidth > width) faults.add(`the page scrolls sideways: ${document.documentElement.scrollWidth} of ${width} pixels`);

  // Text and its background differ as WCAG 2.2 (1.4.3, level AA) demands.
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const parsed = (colour) => {
    if (!colours.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      colours.set(colour, [r, g, b, a / 255]);
    }
    return colours.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const grounds = new Map();
  const ground = (element) => {
    if (element === null) return [...parsed(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#121212" : "#fff")];
    if (!grounds.has(element)) {
      const own = parsed(getComputedStyle(element).backgroundColor);
      grounds.set(element, own[3] === 1 ? own : over(own, ground(element.parentElement)));
    }
    return grounds.get(element);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(element) || /^(SCRIPT|STYLE|TITLE|title)$/.test(element.tagName)) continue;
    seen.add(element);
    const box = element.getBoundingClientRect();
    if (!shown(element) || box.width <= 1 || box.height <= 1) continue;
    const style = getComputedStyle(element);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    if (opacity === 0) continue;
    const below = ground(element);
    const ink = [...parsed(element instanceof SVGElement ? style.fill : style.color)];
    ink[3] *= opacity;
    const [light, dark] = [luminance(over(ink, below)), luminance(below)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) faults.add(`${name(element)} has a contrast of ${ratio.toFixed(2)}, less than ${least}: ${style.color} on rgb(${below.slice(0, 3).map(Math.round)})`);
  }

  // What can be clicked can be focused, within the screen, and looks different then.
  const look = (element) => {
    const style = getComputedStyle(element);
    return [style.boxShadow, style.backgroundColor, style.borderColor, style.textDecoration].join();
  };
  for (const element of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, label[for], [onclick], [tabindex]")) {
    if (!shown(element) || element.disabled || element.matches(".overlay")) continue;
    const before = look(element);
    element.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== element || element.tabIndex < 0) {
      faults.add(`${name(element)} is not reached by the keyboard`);
      continue;
    }
    const style = getComputedStyle(element);
    if ((style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) && look(element) === before)
      faults.add(`${name(element)} looks the same with the focus`);
    element.blur();
  }
  return [...faults];
})()
