// Files of unsent messages per session: uploaded at once, removed or sent later; uploaded ones survive a reload.
import { signal } from "@preact/signals";
import { uploadFile } from "../wire/file-transfer";
import { call } from "../wire/http-api";
import { deleteAttachment } from "../wire/operations";
import type { AttachmentDetail } from "../wire/types";
import { errorText } from "../text/error-text";
import { t } from "../text/translate";
import { FILES_PREFIX } from "./drafts";
import { isOffTheRecord } from "./off-the-record";
import { newId } from "./send-queue";

/** A file in the composer. */
export interface DraftFile {
  key: string;
  session: string;
  name: string;
  /** Share of the upload, from 0 to 1. */
  progress: number;
  /** Why it was not uploaded; empty otherwise. */
  problem: string;
  problemLang?: string;
  /** What the host knows it as; null until it is uploaded. */
  attachment: AttachmentDetail | null;
}

export const draftFiles = signal<readonly DraftFile[]>([]);

const uploads = new Map<string, AbortController>();

export function filesOf(session: string): readonly DraftFile[] {
  return draftFiles.value.filter((file) => file.session === session);
}

/** Brings back the files that were uploaded before a reload. */
export function loadDraftFiles(session: string): void {
  if (filesOf(session).length > 0) return;
  const stored = parse(localStorage.getItem(FILES_PREFIX + session));
  const files = stored.map((attachment) => ({ key: attachment.id, session, name: attachment.name, progress: 1, problem: "", attachment }));
  if (files.length > 0) draftFiles.value = [...draftFiles.value, ...files];
}

/** Uploads files for the next message of a session; `announce` says to screen readers what became of each. */
export function addFiles(session: string, files: Iterable<File>, announce: (text: string) => void): void {
  for (const file of files) void add(session, file, announce);
}

/** Removes a file from the composer, and from the host. */
export function removeFile(file: DraftFile): void {
  uploads.get(file.key)?.abort();
  drop(file.session, (each) => each.key === file.key);
  // A file that stays on the host is unsent, and expires there.
  if (file.attachment !== null) call(deleteAttachment, { attachment_id: file.attachment.id }).catch(() => undefined);
}

/** Takes the uploaded files of a session out of the composer, to be sent. */
export function takeFiles(session: string): AttachmentDetail[] {
  const sent = filesOf(session).flatMap((file) => file.attachment ?? []);
  drop(session, () => true);
  return sent;
}

async function add(session: string, file: File, announce: (text: string) => void): Promise<void> {
  const key = newId();
  const name = file.name || t("file");
  const abort = new AbortController();
  uploads.set(key, abort);
  draftFiles.value = [...draftFiles.value, { key, session, name, progress: 0, problem: "", attachment: null }];
  try {
    const onProgress = (progress: number): void => update(key, { progress });
    const attachment = await uploadFile(file, name, { isOffTheRecord: isOffTheRecord(session), signal: abort.signal, onProgress });
    update(key, { attachment, progress: 1, name: attachment.name });
    announce(t("{name} is attached.", { name: attachment.name }));
  } catch (error) {
    if (abort.signal.aborted) return;
    const { text, lang } = errorText(error);
    update(key, { problem: text, ...(lang === undefined ? {} : { problemLang: lang }) });
    announce(t("{name} was not attached: {problem}", { name, problem: text }));
  } finally {
    uploads.delete(key);
    save(session);
  }
}

function update(key: string, changes: Partial<DraftFile>): void {
  draftFiles.value = draftFiles.value.map((file) => (file.key === key ? { ...file, ...changes } : file));
}

function drop(session: string, is: (file: DraftFile) => boolean): void {
  draftFiles.value = draftFiles.value.filter((file) => file.session !== session || !is(file));
  save(session);
}

function save(session: string): void {
  if (isOffTheRecord(session)) return;
  const uploaded = filesOf(session).flatMap((file) => file.attachment ?? []);
  if (uploaded.length === 0) localStorage.removeItem(FILES_PREFIX + session);
  else localStorage.setItem(FILES_PREFIX + session, JSON.stringify(uploaded));
}

function parse(stored: string | null): AttachmentDetail[] {
  try {
    const found: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(found) ? (found as AttachmentDetail[]).filter((each) => typeof each?.id === "string" && typeof each.name === "string") : [];
  } catch {
    return [];
  }
}
