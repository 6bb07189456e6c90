// Upload and download of files: attachments (docs/attachments.md), and conversations to import (docs/importing.md).
import { ApiError, download, errorFromResponse, fillPath, toQuery } from "./http-api";
import type { HttpOperation } from "./operation";
import { downloadAttachment, importSessions, uploadAttachment } from "./operations";
import type { AttachmentDetail, ImportReportView } from "./types";
import { storedToken } from "./token-storage";
import { t } from "../text/translate";

/** Images that are shown small; anything else is a file to download. */
const SHOWN_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export interface PostOptions {
  signal: AbortSignal;
  onProgress: (share: number) => void;
}

export interface UploadOptions extends PostOptions {
  isOffTheRecord: boolean;
}

/** Uploads a file for a message. */
export async function uploadFile(file: Blob, name: string, options: UploadOptions): Promise<AttachmentDetail> {
  return (await postFile(uploadAttachment, { name, mode: options.isOffTheRecord ? "otr" : undefined }, file, options)).attachment;
}

/** Imports the conversations of a file. */
export function importFile(file: Blob, options: PostOptions): Promise<ImportReportView> {
  return postFile(importSessions, {}, file, options);
}

/** Sends a file as a body, and the request as a query. XMLHttpRequest, because fetch does not say how much was sent. */
function postFile<Request, Result>(operation: HttpOperation<Request, Result>, asked: Request, file: Blob, options: PostOptions): Promise<Result> {
  const { path, fields } = fillPath(operation.path, asked);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(operation.method, path + toQuery(fields));
    const token = storedToken();
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (event) => options.onProgress(event.total > 0 ? event.loaded / event.total : 0);
    request.onload = () => {
      const answer: unknown = request.response ?? {};
      if (request.status >= 200 && request.status < 300) resolve(answer as Result);
      else reject(errorFromResponse(answer as Parameters<typeof errorFromResponse>[0], request.status));
    };
    request.onerror = request.onabort = () => reject(new ApiError("unreachable", t("The host does not respond.")));
    options.signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export function isShownImage(attachment: AttachmentDetail): boolean {
  return SHOWN_TYPES.has(attachment.media_type);
}

/** Images that are kept, so that a turn that comes into view again shows them at once. */
const MAX_KEPT_IMAGES = 30;
const keptImages = new Map<string, string>();

/** The image of an attachment that was loaded lately; empty if it was not. */
export function keptImage(attachment: AttachmentDetail): string {
  return keptImages.get(attachment.id) ?? "";
}

/** Returns an image as a `data:` URL, which the content security policy allows. */
export async function loadImage(attachment: AttachmentDetail): Promise<string> {
  const address = keptImage(attachment) || (await readImage(attachment));
  keptImages.set(attachment.id, address);
  if (keptImages.size > MAX_KEPT_IMAGES) keptImages.delete(keptImages.keys().next().value!);
  return address;
}

async function readImage(attachment: AttachmentDetail): Promise<string> {
  const content = await download(downloadAttachment, { attachment_id: attachment.id });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([content], { type: attachment.media_type }));
  });
}

/** Saves a file on the reader's machine. */
export async function saveFile(attachment: AttachmentDetail): Promise<void> {
  const content = await download(downloadAttachment, { attachment_id: attachment.id });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  link.download = attachment.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
