// The sidebar of a narrow window: it lies over the content, takes the focus, and Escape closes it.
import { useEffect, useState } from "preact/hooks";

/** Width up to which the sidebar lies over the content; the same as in layout.css. */
const NARROW = "(max-width: 50rem)";

/** Whether the sidebar is open, and how to open and close it. In a wide window it is always there. */
export function useDrawer(): [boolean, (open: boolean) => void] {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    const before = document.activeElement;
    requestAnimationFrame(() => {
      const sidebar = document.querySelector<HTMLElement>(".sidebar");
      if (!sidebar?.contains(document.activeElement)) sidebar?.querySelector<HTMLElement>("button")?.focus();
    });
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || document.querySelector("dialog[open], .menu[open]")) return;
      event.stopPropagation(); // it would stop the running turn
      setOpen(false);
      if (before instanceof HTMLElement) before.focus();
    };
    addEventListener("keydown", close, { capture: true });
    return () => removeEventListener("keydown", close, { capture: true });
  }, [isOpen]);
  return [isOpen, (open) => setOpen(open && matchMedia(NARROW).matches)];
}
