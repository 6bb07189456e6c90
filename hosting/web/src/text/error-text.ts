// Errors in the reader's language, by their code (docs/protocol.md): the host's own sentences are English.
import { ApiError } from "../wire/http-api";
import { language, t } from "./translate";

/** A sentence, and its language if that is not the page's. */
export interface ErrorText {
  text: string;
  lang?: string;
}

/** Codes of which the sentence says everything; with others, such as wrong input, the host says what exactly is wrong. */
const SENTENCES: Readonly<Record<string, () => string>> = {
  attachment_in_use: () => t("The file belongs to a message that was sent, and is deleted with its conversation."),
  attachments_full: () => t("There is no room for more files; delete conversations with files, or wait until unsent ones expire."),
  authentication: () => t("The provider does not accept the key."),
  budget_exceeded: () => t("A budget limit is reached."),
  busy: () => t("This is in use at the moment."),
  changed_meanwhile: () => t("This was changed meanwhile; load it again."),
  context_overflow: () => t("The conversation is too long for the model."),
  expired: () => t("The time for this decision is over."),
  forbidden: () => t("You are not allowed to do this."),
  internal: () => t("The host has an internal error; its log says more."),
  level_needed: () => t("Your permission level is not sufficient."),
  model_timeout: () => t("The model did not answer in time."),
  no_provider: () => t("No provider is available."),
  not_found: () => t("This does not exist, or no longer."),
  operator_needed: () => t("Only an operator may do this."),
  otr_full: () => t("There are too many conversations off the record; try again later."),
  otr_lost: () => t("This conversation off the record has ended."),
  overloaded: () => t("The provider is overloaded."),
  price_unknown: () => t("A limit on the cost is set, and the price of the model is unknown."),
  provider_unavailable: () => t("The provider is not available."),
  queue_full: () => t("The queue is full; try again later."),
  queue_unavailable: () => t("The queue is not available; try again later."),
  rate_limited: () => t("The provider limits the calls."),
  request_timeout: () => t("The request took too long."),
  response_too_large: () => t("The reply of the model is too large."),
  too_large: () => t("This is too large."),
  too_many_uploads: () => t("Too many files are being uploaded; wait for one."),
  too_many_messages: () => t("Too many messages in a short time; try again later."),
  unauthorized: () => t("You are not signed in."),
  unsupported_media_type: () => t("Files of this kind are not accepted."),
  unavailable: () => t("The host cannot do this at the moment; try again later."),
};

/** What an error of the host says. In English that is its own sentence, which knows more than its code. */
export function hostErrorText(code: string, message: string): ErrorText {
  if (language() === "en") return { text: message };
  return Object.hasOwn(SENTENCES, code) ? { text: SENTENCES[code]!() } : { text: message, lang: "en" };
}

/** The sentence of an error code in the reader's language, where nothing else says what went wrong; undefined if there is none. */
export function codeText(code: string): string | undefined {
  if (code === "bad_request") return t("The provider rejects the request.");
  return Object.hasOwn(SENTENCES, code) ? SENTENCES[code]!() : undefined;
}

/** What an exception says; the page's own are in its language already. */
export function errorText(error: unknown): ErrorText {
  if (error instanceof ApiError && error.isFromHost) return hostErrorText(error.code, error.message);
  return { text: error instanceof Error ? error.message : String(error) };
}
