// A value as an edit of an earlier value, in the form that gem.trajectory.edits describes.

const LONGEST = 2 ** 26;

/**
 * Return the value that an edit describes.
 * @param {object} edit
 * @param {any} old The earlier value.
 * @param {any} action The action between the two.
 */
export function applyEdit(edit, old, action) {
  if ("value" in edit) return edit.value;
  if ("text" in edit) return applyText(edit.text, typeof old === "string" ? old : "", actionText(action));
  if ("list" in edit) return applyList(edit.list, Array.isArray(old) ? old : [], action);
  throw new Error("an edit of an unknown kind");
}

/** The text of an action that edits refer to: reasoning, text, arguments of calls. */
export function actionText(action) {
  if (typeof action === "string") return action;
  if (action === null || typeof action !== "object") return "";
  const { content } = action;
  const texts = [action.reasoning_content];
  if (Array.isArray(content)) texts.push(...content.map((part) => part?.text));
  else texts.push(content);
  const calls = Array.isArray(action.tool_calls) ? action.tool_calls : [];
  // The server sends no edits of actions with arguments that are not text.
  texts.push(...calls.map((call) => call?.function?.arguments));
  return texts.filter((text) => typeof text === "string").join("");
}

/** An action as the assistant message that edits refer to. */
export function actionMessage(action) {
  return typeof action === "string" ? { role: "assistant", content: action } : { ...action, role: "assistant" };
}

function applyText(pieces, old, action) {
  const parts = pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    return piece[0] === "action" ? slicePoints(action, piece[1], piece[2]) : slicePoints(old, piece[0], piece[1]);
  });
  checkLength(parts.reduce((total, part) => total + part.length, 0));
  return parts.join("");
}

function applyList(pieces, old, action) {
  const items = [];
  for (const piece of pieces) {
    if (!Array.isArray(piece)) items.push(...(piece.items ?? [changedItem(piece, old, action)]));
    else if (piece[0] !== "action") items.push(...old.slice(piece[0], piece[1]));
    else if (piece.length === 1) items.push(actionMessage(action));
    else items.push(...action.slice(piece[1], piece[2]));
    checkLength(items.length);
  }
  return items;
}

function changedItem({ of, fields }, old, action) {
  const base = of === null || of === undefined ? {} : of === "action" ? actionMessage(action) : old[of];
  const changed = Object.entries(fields).map(([name, edit]) => [name, applyEdit(edit, base[name], action)]);
  return { ...base, ...Object.fromEntries(changed) };
}

/** Return a part of a text by its characters, which edits count, rather than by units of 16 bits. */
function slicePoints(text, start, end) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return text.slice(start, end);
  return [...text].slice(start, end).join("");
}

function checkLength(length) {
  if (length > LONGEST) throw new Error("the value is too long to be shown");
}
