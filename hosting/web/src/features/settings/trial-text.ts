// Why a provider could not be used, in the reader's language: one sentence for each reason (docs/api.md).
import { ApiError } from "../../wire/http-api";
import { errorText, type ErrorText } from "../../text/error-text";
import { language, t } from "../../text/translate";

const SENTENCES: Readonly<Record<string, () => string>> = {
  wrong_key: () => t("The provider does not accept this key."),
  no_credit: () => t("The key is right, but its account has no credit left."),
  no_network: () => t("The provider cannot be reached; look at the network and the address."),
  unknown_model: () => t("The provider has no such model for this key."),
  no_api: () => t("There is no API of this kind at this address."),
  provider_busy: () => t("The provider is busy, or limits this key now; try again in a minute."),
  provider_failed: () => t("The provider answered with an error."),
};

/** What went wrong in a trial. In English the host's own sentence says it, which names the provider. */
export function trialErrorText(error: unknown): ErrorText {
  const reason = error instanceof ApiError ? String(error.extra["reason"] ?? "") : "";
  return language() !== "en" && Object.hasOwn(SENTENCES, reason) ? { text: SENTENCES[reason]!() } : errorText(error);
}
