// Files that the page makes and hands over. Nothing leaves the browser.

const SCALE = 3;

/** Hand a file over, under a name of letters, digits, hyphens and dots. */
export function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[^A-Za-z0-9.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Return a picture in SVG as PNG, three pixels to one of the picture. */
export async function pngOf(text) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * picture.naturalWidth;
  canvas.height = SCALE * picture.naturalHeight;
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
