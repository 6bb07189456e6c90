// Bubble of a user's message: plain text, collapsed if long, with its attachments.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { escapeControls } from "../text/escape-controls";
import { t } from "../text/translate";
import type { AttachmentDetail } from "../wire/types";
import { Icon } from "./icons";
import { SentFiles } from "./sent-files";

const MAX_LINES = 14;
const MAX_CHARACTERS = 1500;
/** AttachmentDetail line that a channel appends to the message: `[attached: photo.jpg, image/jpeg, 120 kB, files/telegram/…]`. */
const ATTACHMENT = /^\[attached: ([^\]]+)\]$/u;

/** Begins the message with which the host asks for the report of a goal: results for the model, behind two lines for people. */
const REPORT = "[AUTO-DETECTED: goal ";
const REPORT_LINES = 2;

interface UserMessageProps {
  text: string;
  attachments?: readonly AttachmentDetail[];
  state?: JSX.Element | undefined;
}

export function UserMessage({ text, attachments = [], state }: UserMessageProps): JSX.Element {
  const [showAll, setShowAll] = useState(false);
  const lines = escapeControls(text).split("\n");
  const files = lines.map((line) => ATTACHMENT.exec(line)?.[1]).filter((file) => file !== undefined && !attachments.some(({ name }) => file.startsWith(`${name}, `)));
  const body = lines.filter((line) => !ATTACHMENT.test(line)).join("\n").trim();
  const short = body.split("\n").slice(0, body.startsWith(REPORT) ? REPORT_LINES : MAX_LINES).join("\n").slice(0, MAX_CHARACTERS);
  return (
    <div class="said">
      {body !== "" && <p dir="auto" lang="">{showAll ? body : short}</p>}
      {short !== body && (
        <button type="button" class="quiet" aria-expanded={showAll} onClick={() => setShowAll(!showAll)}>
          {showAll ? t("Show less") : t("Show all")}
        </button>
      )}
      <SentFiles files={attachments} />
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
