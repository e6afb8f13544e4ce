// The screen of a terminal, as far as recordings need it: text, the cursor, scrolling and erasing, without colours.

const PARTS = /\x1b\[([?>!=]?)([\d;:]*)[ -/]*([@-~])|\x1b\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[()*+#%].|\x1b([ -~])|([\x00-\x1f\x7f])|([^\x00-\x1f\x7f\x1b])/gu;

export class TerminalScreen {
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.reset();
  }

  reset() {
    this.lines = this.blank();
    this.other = null; // the usual screen, while a program shows another one
    this.x = this.y = 0;
    this.saved = [0, 0];
    this.top = 0;
    this.bottom = this.rows - 1;
  }

  /** Carry out output. A sequence that is cut off by the end of the text is lost. */
  write(text) {
    for (const [, mark, numbers, final, escape, control, character] of text.matchAll(PARTS)) {
      if (character !== undefined) this.put(character);
      else if (control !== undefined) this.control(control);
      else if (escape !== undefined) this.escape(escape);
      else if (final !== undefined) this.sequence(mark, numbers.split(/[;:]/).map((number) => Number(number || 0)), final);
    }
  }

  text() {
    return this.lines.map((line) => line.join("").trimEnd()).join("\n");
  }

  blank(count = this.rows) {
    return Array.from({ length: count }, () => Array(this.columns).fill(" "));
  }

  put(character) {
    if (this.x >= this.columns) {
      this.x = 0;
      this.feed();
    }
    this.lines[this.y][this.x] = character;
    this.x += 1;
  }

  control(character) {
    if (character === "\r") this.x = 0;
    else if (character === "\b") this.x = Math.max(Math.min(this.x, this.columns - 1) - 1, 0);
    else if (character === "\t") this.x = Math.min(8 * (Math.floor(this.x / 8) + 1), this.columns - 1);
    else if ("\n\v\f".includes(character)) this.feed();
  }

  escape(character) {
    if (character === "c") this.reset();
    else if (character === "D") this.feed();
    else if (character === "E") [this.x] = [0, this.feed()];
    else if (character === "M" && this.y === this.top) this.scroll(-1);
    else if (character === "M") this.y = Math.max(this.y - 1, 0);
    else if (character === "7") this.saved = [this.x, this.y];
    else if (character === "8") [this.x, this.y] = this.saved;
  }

  sequence(mark, numbers, final) {
    const [first, second] = numbers;
    if (mark) {
      if (mark === "?" && "hl".includes(final)) for (const mode of numbers) this.mode(mode, final === "h");
      return;
    }
    const by = Math.max(first, 1);
    const act = {
      A: () => this.move(this.x, Math.max(this.y - by, this.y >= this.top ? this.top : 0)),
      B: () => this.move(this.x, Math.min(this.y + by, this.y <= this.bottom ? this.bottom : this.rows - 1)),
      C: () => this.move(this.x + by, this.y),
      D: () => this.move(Math.min(this.x, this.columns - 1) - by, this.y),
      E: () => this.move(0, this.y + by),
      F: () => this.move(0, this.y - by),
      G: () => this.move(by - 1, this.y),
      "`": () => this.move(by - 1, this.y),
      H: () => this.move(Math.max(second ?? 1, 1) - 1, by - 1),
      f: () => this.move(Math.max(second ?? 1, 1) - 1, by - 1),
      d: () => this.move(this.x, by - 1),
      J: () => this.eraseScreen(first),
      K: () => this.eraseLine(first),
      L: () => [this.x] = [0, this.shift(this.y, by)],
      M: () => [this.x] = [0, this.shift(this.y, -by)],
      S: () => this.scroll(by),
      T: () => this.scroll(-by),
      P: () => this.line((line, x) => line.splice(x, by)),
      "@": () => this.line((line, x) => line.splice(x, 0, ...Array(Math.min(by, this.columns)).fill(" "))),
      X: () => this.lines[this.y].fill(" ", this.x, this.x + by),
      r: () => this.region(by - 1, (second || this.rows) - 1),
      s: () => (this.saved = [this.x, this.y]),
      u: () => ([this.x, this.y] = this.saved),
    }[final];
    act?.();
  }

  mode(number, on) {
    if (![47, 1047, 1049].includes(number) || on === (this.other !== null)) return;
    if (on) {
      this.other = [this.lines, this.x, this.y];
      this.lines = this.blank();
    } else {
      [this.lines, this.x, this.y] = this.other;
      this.other = null;
    }
  }

  move(x, y) {
    this.x = Math.max(0, Math.min(x, this.columns - 1));
    this.y = Math.max(0, Math.min(y, this.rows - 1));
  }

  feed() {
    if (this.y === this.bottom) this.scroll(1);
    else this.y = Math.min(this.y + 1, this.rows - 1);
  }

  scroll(by) {
    this.shift(this.top, -by);
  }

  /** Insert blank lines at a line within the scrolling region; remove lines where the number is negative. */
  shift(at, by) {
    if (at < this.top || at > this.bottom) return;
    const part = this.lines.slice(at, this.bottom + 1);
    const count = Math.min(Math.abs(by), part.length);
    const moved = by < 0 ? [...part.slice(count), ...this.blank(count)] : [...this.blank(count), ...part.slice(0, part.length - count)];
    this.lines.splice(at, part.length, ...moved);
  }

  region(top, bottom) {
    if (top >= bottom || bottom >= this.rows) return;
    [this.top, this.bottom] = [top, bottom];
    this.move(0, 0);
  }

  eraseLine(how) {
    const line = this.lines[this.y];
    if (how === 0) line.fill(" ", this.x);
    else if (how === 1) line.fill(" ", 0, this.x + 1);
    else if (how === 2) line.fill(" ");
  }

  eraseScreen(how) {
    if (how < 2) this.eraseLine(how);
    for (const [number, line] of this.lines.entries()) {
      if (how >= 2 || (how === 0 && number > this.y) || (how === 1 && number < this.y)) line.fill(" ");
    }
  }

  line(change) {
    const line = this.lines[this.y];
    change(line, Math.min(this.x, this.columns - 1));
    line.length = Math.min(line.length, this.columns);
    while (line.length < this.columns) line.push(" ");
  }
}
