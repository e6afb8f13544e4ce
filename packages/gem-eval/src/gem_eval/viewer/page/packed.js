// The form of data in an exported page, which gem_eval.viewer.packing describes.

/**
 * Read a value.
 * @param {ArrayBuffer} buffer The length of the JSON, the JSON, the pieces.
 * @param {Object<string, string>} [texts] The texts of token ids.
 */
export function unpack(buffer, texts = {}) {
  const bytes = new Uint8Array(buffer);
  const length = new DataView(buffer).getUint32(0, true);
  const { value, pieces, spelled, quotes } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  for (const [path, kind, offset, count] of pieces) {
    put(value, path, numbers(bytes.subarray(4 + length + offset), kind, count));
  }
  for (const number of spelled ?? []) {
    const turn = value.transitions[number];
    turn.tokens = turn.token_ids.map((id) => texts[id]);
  }
  for (const [path, turn, start, end] of quotes ?? []) {
    put(value, path, value.transitions[turn].tokens.join("").slice(start, end));
  }
  return value;
}

function put(value, path, item) {
  const holder = path.slice(0, -1).reduce((inner, step) => inner[step], value);
  holder[path.at(-1)] = item;
}

function numbers(bytes, kind, count) {
  const byte = (plane, index) => bytes[plane * count + index];
  const read =
    kind === "u32"
      ? (index) => byte(0, index) + 2 ** 8 * byte(1, index) + 2 ** 16 * byte(2, index) + 2 ** 24 * byte(3, index)
      : (index) => half(byte(0, index) + 2 ** 8 * byte(1, index));
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
