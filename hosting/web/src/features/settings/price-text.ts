// What a model costs, as a text for people: prices are in USD per million tokens.
import type { OfferedModel } from "../../wire/types";
import { formatNumber } from "../../text/format";
import { t } from "../../text/translate";

/** Tokens of a turn of ordinary length: a conversation with tools reads much and writes little. */
const READ = 8000;
const WRITTEN = 600;

/** The prices of a model. */
export function priceText({ prices, is_free: isFree }: OfferedModel): string {
  if (prices !== null) return t("${input} read, ${output} written, per million tokens", { input: amount(prices.input), output: amount(prices.output) });
  return isFree ? t("free: a server of your own") : t("price unknown");
}

/** What a turn costs, about. */
export function turnPriceText(model: OfferedModel): string {
  if (model.prices === null) return model.is_free ? t("It costs nothing: it runs on a server of your own.") : t("Its price is unknown, so limits on the cost cannot hold; set Prices in the settings.");
  const cost = (READ * model.prices.input + WRITTEN * model.prices.output) / 1_000_000;
  return t("A message with {read} tokens read and {written} written costs about ${cost}.", { read: formatNumber(READ), written: formatNumber(WRITTEN), cost: amount(cost) });
}

function amount(value: number): string {
  return value.toLocaleString(undefined, { maximumSignificantDigits: 3 });
}
