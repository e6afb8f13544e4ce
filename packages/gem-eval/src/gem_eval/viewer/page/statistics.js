// Small statistics of lists in which null means unknown.

/** Up to so many different values, each has a bin of its own. */
const FEW = 8;

/** The values that are known. */
export function known(values) {
  return values.filter((value) => value !== null && value !== undefined);
}

export function mean(values) {
  const found = known(values);
  return found.length ? found.reduce((sum, value) => sum + value, 0) / found.length : null;
}

export function sum(values) {
  return known(values).reduce((total, value) => total + value, 0);
}

export function median(values) {
  const sorted = Float64Array.from(known(values)).sort();
  if (!sorted.length) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Cut a range of values into bins with round borders.
 * @param {number[]} values Known values.
 * @param {boolean} isWhole Whether only integers make sense.
 * @param {number} most The largest number of bins.
 * @returns {{low: number, high: number, label: number|null}[]} Borders; low is in the bin, high is not, but in the last.
 */
export function bins(values, isWhole, most = 24) {
  const distinct = new Set();
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (distinct.size <= most) distinct.add(value);
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!values.length) return [];
  if (low === high) return [{ low, high, label: low }];
  if (isWhole && high - low < most) {
    return Array.from({ length: high - low + 1 }, (_, step) => ({ low: low + step, high: low + step, label: low + step }));
  }
  if (distinct.size <= FEW) return [...distinct].sort((one, other) => one - other).map((value) => ({ low: value, high: value, label: value }));
  const step = roundStep((high - low) / most, isWhole);
  const first = Math.floor(low / step);
  const last = Math.floor(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const from = round((first + index) * step);
    const to = round((first + index + 1) * step);
    return { low: from, high: isWhole ? to - 1 : to, label: null, open: !isWhole && first + index < last };
  });
}

/** Return a function from a value to the position of its bin. */
export function finder(borders) {
  if (borders.length === 1) return () => 0;
  if (borders[0].label !== null) {
    const places = new Map(borders.map(({ label }, index) => [label, index]));
    return (value) => places.get(value);
  }
  const step = borders[1].low - borders[0].low;
  return (value) => {
    let index = Math.max(0, Math.min(borders.length - 1, Math.floor((value - borders[0].low) / step)));
    if (value < borders[index].low) index -= 1;
    else if (index + 1 < borders.length && value >= borders[index + 1].low) index += 1;
    return Math.max(0, index);
  };
}

/** The next of 1, 2, 5 times a power of ten. */
export function roundStep(step, isWhole = false) {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= step * 0.999) ?? 10;
  return isWhole ? Math.max(1, factor * power) : factor * power;
}

/** Round numbers between two values, about as many as wanted. */
export function ticks(low, high, wanted = 4, isWhole = false) {
  if (!(high > low)) return [low];
  const step = roundStep((high - low) / wanted, isWhole);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) found.push(round(index * step));
  return found;
}

function round(value) {
  return Number(value.toPrecision(12));
}
