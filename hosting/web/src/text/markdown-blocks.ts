// Splitting of streamed Markdown into blocks, so that finished blocks need not be parsed again.

const FENCE = /^ {0,3}(`{3,}|~{3,})/u;
/** A line that starts a new block regardless of the lines before it. */
const NEW_BLOCK = /^(?:[^\s>*+\-\d|]|#{1,6} )/u;

/** Splits the text into blocks that can be rendered separately; only the last one may still change. */
export function splitBlocks(text: string): string[] {
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
      if (blank && at > begin && NEW_BLOCK.test(line)) {
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
