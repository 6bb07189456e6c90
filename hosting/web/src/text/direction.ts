// Direction of a text by its first letter, like `dir="auto"`, for which Chromium needs quadratic time in a textarea.

/** Characters that are looked at. */
const MAX_CHARACTERS = 1000;
const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

export function directionOf(text: string): "ltr" | "rtl" {
  const letter = LETTER.exec(text.slice(0, MAX_CHARACTERS))?.[0] ?? "";
  return RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}
