// Where a markdown text that is still growing can be cut: what stands before is settled and need not be read again.

const FENCE = /^ {0,3}(`{3,}|~{3,})/u;
/** A line that begins something of its own, whatever stood before it. */
const FRESH = /^(?:[^\s>*+\-\d|]|#{1,6} )/u;

/** The text in pieces that can be rendered one by one; joined they are the text. Only the last may still change. */
export function settledBlocks(text: string): string[] {
  const pieces: string[] = [];
  let fence = "";
  let begin = 0;
  let at = 0;
  let blank = false;
  while (at < text.length) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    const line = text.slice(at, end);
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence !== "") {
      if (mark.startsWith(fence) && line.trim() === mark) fence = "";
    } else {
      if (blank && at > begin && FRESH.test(line)) {
        pieces.push(text.slice(begin, at));
        begin = at;
      }
      if (mark !== "") fence = mark;
    }
    blank = line.trim() === "" && fence === "";
    at = end + 1;
  }
  pieces.push(text.slice(begin));
  return pieces;
}
