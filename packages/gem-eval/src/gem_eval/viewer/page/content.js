// What an observation or action consists of: text, pictures, other parts, tool calls; or messages with these in them.

/**
 * @typedef {{kind: "text", text: string} | {kind: "picture", url: string} | {kind: "other", name: string, value: any}} Part
 * @typedef {{role: string, name: string|null, reasoning: string|null, parts: Part[], calls: Call[]}} Message
 * @typedef {{id: string|null, name: string, arguments: any}} Call
 */

/** Whether a value is a list of chat messages. */
export function isConversation(value) {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

export function isMessage(value) {
  return isObject(value) && typeof value.role === "string";
}

/**
 * Read a chat message.
 * @returns {Message}
 */
export function messageOf(value) {
  return {
    role: value.role,
    name: textOf(value.name) ?? textOf(value.tool_call_id),
    reasoning: textOf(value.reasoning_content) ?? textOf(value.reasoning),
    parts: partsOf(value.content),
    calls: Array.isArray(value.tool_calls) ? value.tool_calls.filter(isObject).map(callOf) : [],
  };
}

/**
 * Read content: text, or a list of parts; anything else is shown as JSON.
 * @returns {Part[]}
 */
export function partsOf(content) {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return content ? [{ kind: "text", text: content }] : [];
  if (Array.isArray(content) && content.every((part) => isObject(part) && typeof part.type === "string")) return content.map(partOf);
  return [{ kind: "other", name: "", value: content }];
}

/** Read a tool call of the chat format; arguments that are JSON in a string are parsed. */
export function callOf(value) {
  const inner = isObject(value.function) ? value.function : value;
  return { id: textOf(value.id), name: textOf(inner.name) ?? "(no name)", arguments: parsed(inner.arguments) };
}

export function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function partOf(part) {
  if (typeof part.text === "string" && part.type.includes("text")) return { kind: "text", text: part.text };
  const picture = part.image_url ?? part.image ?? (isObject(part.source) ? part.source : null);
  const url = isObject(picture) ? picture.url ?? anthropicUrl(picture) : picture;
  if (typeof url === "string" && part.type.includes("image")) return { kind: "picture", url };
  return { kind: "other", name: part.type, value: part };
}

function anthropicUrl({ media_type: type, data }) {
  return typeof type === "string" && typeof data === "string" ? `data:${type};base64,${data}` : null;
}

function parsed(value) {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function textOf(value) {
  return typeof value === "string" && value ? value : null;
}
