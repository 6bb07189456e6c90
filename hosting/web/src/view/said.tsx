// What a person said: plain text, long ones folded, with the files that came with it.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { visible } from "../text/visible";
import { Icon } from "./icons";

const MOST_LINES = 14;
const MOST_SIGNS = 1500;
/** As a channel writes it below the message: `[attached: photo.jpg, image/jpeg, 120 kB, files/telegram/…]`. */
const ATTACHED = /^\[attached: ([^\]]+)\]$/u;

export function Said({ text, state }: { text: string; state?: JSX.Element }): JSX.Element {
  const [all, setAll] = useState(false);
  const lines = visible(text).split("\n");
  const files = lines.map((line) => ATTACHED.exec(line)?.[1]).filter((file) => file !== undefined);
  const words = lines.filter((line) => !ATTACHED.test(line)).join("\n").trim();
  const short = words.split("\n").slice(0, MOST_LINES).join("\n").slice(0, MOST_SIGNS);
  return (
    <div class="said">
      <p dir="auto">{all ? words : short}</p>
      {short !== words && (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show less" : "Show all"}
        </button>
      )}
      {files.map((file) => (
        <span key={file} class="attachment">
          <Icon name="file" />
          <bdi>{file}</bdi>
        </span>
      ))}
      {state}
    </div>
  );
}
