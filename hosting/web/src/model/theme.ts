// Colour theme: follows the system unless the user selects light or dark.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "sophon.theme";
const ORDER: Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(storedTheme());

export function nextTheme(): void {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "auto";
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (theme.value === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
});

function storedTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "auto";
}
