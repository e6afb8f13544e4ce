// Numbers, shares, durations and dates as text.

const NONE = "–";

/** Rounds as Python does: 6.25 to 6.2. */
const TENTHS = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false, roundingMode: "halfEven" });

/** A whole number with its thousands apart. Not by toLocaleString, which is slow for thousands of cells. */
export function whole(value) {
  return grouped(String(value));
}

function grouped(digits) {
  return digits.replace(/\d(?=(\d{3})+(?!\d)(?<!\.\d*))/g, "$&,");
}

/** A number with few digits: returns, means. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  const size = Math.abs(value);
  return (value < 0 ? "−" : "") + positive(size, digits);
}

function positive(value, digits) {
  if (Number.isInteger(value) && value < 1e6) return whole(value);
  if (value >= 1e6 || (value > 0 && value < 1e-3)) return value.toPrecision(3).replace("e+", "e");
  return grouped(String(Number(value.toFixed(value >= 100 ? 1 : digits))));
}

/** A count, shortened from ten thousand on. */
export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (value < 10000) return whole(Math.round(value));
  if (value < 1e6) return `${short(value / 1e3)}k`;
  if (value < 1e9) return `${short(value / 1e6)}M`;
  return `${short(value / 1e9)}G`;
}

function short(value) {
  return String(Number(value.toFixed(value < 100 ? 1 : 0)));
}

/** A share from 0 to 1 as a percentage. */
export function percent(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  const shown = value * 100;
  return `${shown > 0 && shown < 10 ? shown.toFixed(1) : shown.toFixed(shown > 99 && shown < 100 ? 1 : 0)}%`;
}

/** Seconds as a duration. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return NONE;
  if (seconds <= 0) return "0 s";
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A Unix time as date and time of day. */
export function date(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const moment = new Date(seconds * 1000);
  if (Number.isNaN(moment.getTime())) return NONE;
  return moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** A number with its sign, for differences. */
export function signed(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  return value > 0 ? `+${number(value)}` : number(value);
}

/** A count with its noun: "1 turn", "3 turns". */
export function counted(value, noun) {
  return `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** The counts behind a share, and what it can be whatever the unknown outcomes were, as the command line prints them. */
export function countedText(solved, judged, unknown) {
  const counts = `${solved} of ${judged}${unknown ? ` + ${unknown} unknown` : ""}`;
  if (!judged || !unknown) return counts;
  const total = judged + unknown;
  return `${counts}: ${TENTHS.format((100 * solved) / total)} … ${TENTHS.format((100 * (solved + unknown)) / total)} %`;
}
