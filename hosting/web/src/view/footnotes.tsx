// Footnotes of a text: each reference leads to its footnote, and back. Their ids are unique in the document.
import { createContext } from "preact";
import { useContext, useEffect, useId, useMemo, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { numberFootnotes, type FootnoteReferenceToken, type FootnoteToken } from "../text/footnote-tokens";
import { t } from "../text/translate";

interface Footnotes {
  prefix: string;
  numbers: ReadonlyMap<string, number>;
  /** Who has an id: of two footnotes with one label, the first. */
  owners: Map<string, object>;
}

const NONE: Footnotes = { prefix: "", numbers: new Map(), owners: new Map() };

export const FootnotesContext = createContext<Footnotes>(NONE);

/** The footnotes of a text; references and footnotes in different blocks find each other by them. */
export function useFootnotes(text: string): Footnotes {
  const prefix = useId();
  const [owners] = useState(() => new Map<string, object>());
  return useMemo(() => ({ prefix, numbers: numberFootnotes(text), owners }), [prefix, text]);
}

/** The number of a reference; as it was written, if there is no footnote. */
export function FootnoteReference({ token }: { token: FootnoteReferenceToken }): JSX.Element {
  const { prefix, numbers } = useContext(FootnotesContext);
  const number = numbers.get(token.label);
  const id = useOwnId(`${prefix}-reference-${number}`);
  if (number === undefined) return <>{token.raw}</>;
  return (
    <sup class="footnote-reference" id={id}>
      <JumpLink to={`${prefix}-footnote-${number}`} label={t("Footnote {number}", { number })}>
        {number}
      </JumpLink>
    </sup>
  );
}

/** A footnote, where it is in the text, with the way back to its first reference. */
export function FootnoteDefinition({ token, children }: { token: FootnoteToken; children: ComponentChildren }): JSX.Element {
  const { prefix, numbers } = useContext(FootnotesContext);
  const number = numbers.get(token.label);
  const id = useOwnId(`${prefix}-footnote-${number}`);
  return (
    <div class="footnote" id={number === undefined ? undefined : id} tabIndex={-1}>
      <span class="footnote-number">{number ?? token.label}.</span>
      <div>{children}</div>
      {number !== undefined && (
        <JumpLink to={`${prefix}-reference-${number}`} label={t("Back to reference {number}", { number })}>
          ↩
        </JumpLink>
      )}
    </div>
  );
}

/** The id, if no other element of the text has it. */
function useOwnId(id: string): string | undefined {
  const { owners } = useContext(FootnotesContext);
  const [self] = useState(() => ({}));
  if (!owners.has(id)) owners.set(id, self);
  useEffect(
    () => () => {
      if (owners.get(id) === self) owners.delete(id);
    },
    [id],
  );
  return owners.get(id) === self ? id : undefined;
}

/** A link within the page, whose address has the route where others have the place. */
function JumpLink({ to, label, children }: { to: string; label: string; children: ComponentChildren }): JSX.Element {
  const jump = (event: Event): void => {
    event.preventDefault();
    const target = document.getElementById(to);
    target?.scrollIntoView({ block: "nearest" });
    const focusable = target?.hasAttribute("tabindex") ? target : target?.querySelector("a");
    focusable?.focus({ preventScroll: true });
  };
  return (
    <a href={`#${to}`} aria-label={label} onClick={jump}>
      {children}
    </a>
  );
}
