// Line icons (SVG); always accompanied by text or a button label.
import type { JSX } from "preact";

const PATHS = {
  plus: "M12 5v14M5 12h14",
  memory: "M6 4h12v16l-6-4-6 4z",
  goal: "M5 21V4h13l-3 4 3 4H5",
  agent: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0z",
  trace: "M4 6h10M7 12h12M10 18h7",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4",
  quote: "M6 17h4l1-4V7H5v6h3zM15 17h4l1-4V7h-6v6h3z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7L7 17",
  dash: "M6 12h12",
  blocked: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM5.6 5.6l12.8 12.8",
  shield: "M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  chevron: "M9 6l6 6-6 6",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 2.5h3L15 13h5",
  chart: "M5 20V11M12 20V5M19 20v-6",
  host: "M4 5h16v6H4zM4 14h16v6H4zM7.5 8h.01M7.5 17h.01",
  again: "M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  auto: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 7h6M12 11h8.5M12 15h8",
  down: "M12 5v14M6 13l6 6 6-6",
  leave: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  keys: "M3 7h18v10H3zM7 10.5h.01M11 10.5h.01M15 10.5h.01M8 14h8",
  good: "M7 11v9H4v-9zM7 11l4-8c1.5 0 2.5 1 2.3 2.6L12.8 9H19a2 2 0 0 1 2 2.3l-1 6.8a2.3 2.3 0 0 1-2.3 1.9H7",
  bad: "M7 13V4H4v9zM7 13l4 8c1.5 0 2.5-1 2.3-2.6L12.8 15H19a2 2 0 0 0 2-2.3l-1-6.8A2.3 2.3 0 0 0 17.7 4H7",
  pencil: "M5 19l1-4L16.5 4.5l3 3L9 18zM14 7l3 3",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  back: "M15 6l-6 6 6 6",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  clip: "M19 11.5l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-8 8a1.5 1.5 0 0 1-2.1-2.1l7-7",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
