// Shared controls: icon button, copy button, disclosure, dialog, status light; and a clock hook.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { toOneLine } from "../text/escape-controls";
import { t } from "../text/translate";
import { Icon, type IconName } from "./icons";

export function IconButton(props: { icon: IconName; label: string; onClick: () => void; class?: string; disabled?: boolean; pressed?: boolean }): JSX.Element {
  return (
    <button type="button" class={`icon-button ${props.class ?? ""}`} aria-label={props.label} title={props.label} aria-pressed={props.pressed} disabled={props.disabled} onClick={props.onClick}>
      <Icon name={props.icon} />
    </button>
  );
}

export function CopyButton({ text, label, load }: { text: string; label: string; load?: (() => Promise<string>) | undefined }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = (): void => {
    const copied = load === undefined ? copyToClipboard(text) : load().then(copyToClipboard, () => false);
    void copied.then((ok) => {
      setDone(ok);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return (
    <button type="button" class="quiet copy" onClick={copy} aria-label={label}>
      <Icon name={done ? "check" : "copy"} />
      <span aria-live="polite">{done ? t("Copied") : t("Copy")}</span>
    </button>
  );
}

/** Copies text; falls back to `execCommand` on plain HTTP, where the Clipboard API is unavailable. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "off-screen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Collapsible section; its content is rendered only while it is open. */
export function Disclosure(props: { summary: ComponentChildren; class?: string; open?: boolean; children: () => ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState(props.open ?? false);
  return (
    <details class={props.class} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="chevron" />
        {props.summary}
      </summary>
      {open && <div class="folded">{props.children()}</div>}
    </details>
  );
}

/** Modal dialog; Escape and a click outside close it, and the focus returns to the previous element. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={props.wide ? "wide" : undefined}
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <header>
        <h2>{props.title}</h2>
        <IconButton icon="close" label={t("Close")} onClick={() => dialog.current?.close()} />
      </header>
      <div class="dialog-body">{props.children}</div>
    </dialog>
  );
}

/** Button of an action on the host; disabled until the action is done, so that a double click does it once. */
export function ActionButton(props: { label: string; action: () => Promise<void>; children: ComponentChildren }): JSX.Element {
  const [isRunning, setRunning] = useState(false);
  const run = (): void => {
    setRunning(true);
    void props.action().finally(() => setRunning(false));
  };
  return (
    <button type="button" aria-label={props.label} disabled={isRunning} onClick={run}>
      {props.children}
    </button>
  );
}

/** State as text, with a coloured dot before it. */
export function StatusLight({ good, label }: { good: boolean; label: string }): JSX.Element {
  return (
    <span class={good ? "light good" : "light"}>
      <span class="dot" aria-hidden="true" /> {toOneLine(label, 60)}
    </span>
  );
}

/** Returns the current time, updated every `milliseconds`; for countdowns. */
export function useNow(milliseconds: number, runs = true): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!runs) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds, runs]);
  return now;
}
