// Elements without markup: whatever is given as text becomes a text node, and nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes] A function under "on…" becomes a listener; null and false leave out.
 * @param {...any} children Nodes, text, or lists of them; null and false are skipped.
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element, as el does. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace the content of an element. */
export function setContent(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Set the text of an element, if it differs. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      // Text under such a name would be code.
      if (typeof value !== "function") throw new TypeError(`${name} needs a function`);
      element.addEventListener(name.slice(2), value);
    } else {
      // All links lead into this page; pictures are made in pictures.js.
      if (name === "href" && !String(value).startsWith("#")) throw new TypeError("links stay in the page");
      if (name === "src" || name === "srcdoc" || name === "style") throw new TypeError(`${name} is not allowed`);
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}
