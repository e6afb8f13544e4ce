// Pictures of observations. Only bitmaps that are in the record are shown; nothing is ever loaded.

import { el } from "./dom.js";
import { plain } from "./text.js";

const BITMAP = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const LONGEST = 20_000_000;

/** Return a picture, or a remark where the address is not that of a bitmap in the record. */
export function picture(url) {
  if (url.length > LONGEST || !BITMAP.test(url)) {
    const kind = url.startsWith("data:") ? "Picture of a kind that is not shown" : "Picture elsewhere, not loaded";
    return el("p", { class: "no-picture" }, `${kind}: `, el("code", {}, plain(url, 200)));
  }
  const image = el("img", { class: "picture", alt: "Picture in the conversation", loading: "lazy" });
  image.setAttribute("src", url);
  image.addEventListener("error", () => image.replaceWith(el("p", { class: "no-picture" }, "Picture that cannot be decoded")));
  return image;
}
