// The form of data in an exported page: JSON, and long lists of numbers as pieces of a binary tail.

/**
 * Read what gem_eval.viewer.packing wrote.
 * @param {ArrayBuffer} buffer The length of the JSON (32 bits), the JSON, the pieces.
 */
export function unpack(buffer) {
  const view = new DataView(buffer);
  const length = view.getUint32(0, true);
  const { value, pieces } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  for (const [path, kind, offset, count] of pieces) {
    const holder = path.slice(0, -1).reduce((inner, step) => inner[step], value);
    holder[path.at(-1)] = numbers(view, 4 + length + offset, kind, count);
  }
  return value;
}

function numbers(view, start, kind, count) {
  const read =
    kind === "u32"
      ? (index) => view.getUint32(start + 4 * index, true)
      : (index) => half(view.getUint16(start + 2 * index, true));
  return Array.from({ length: count }, (_, index) => read(index));
}

/** Return the number that 16 bits stand for (IEEE 754 binary16); null for NaN. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? null : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
