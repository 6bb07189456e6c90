// Audit page: what became of each tool call and who changed the host; search, pages, and the check of the chain.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { routeUrl } from "../../model/router";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatTime } from "../../text/format";
import { plural, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { listAudit, verifyAuditLog } from "../../wire/operations";
import type { AuditEntryView } from "../../wire/types";
import { ActionButton, Disclosure } from "../../view/controls";
import { EmptyState } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";

export const auditPage = definePage({ name: "audit", title: () => t("Audit"), icon: null, View: AuditPage });

const PAGE_SIZE = 50;

const EVENTS: Readonly<Record<string, () => string>> = {
  proposed: () => t("proposed"),
  evaluated: () => t("evaluated"),
  executed: () => t("executed"),
  failed: () => t("failed"),
  blocked: () => t("blocked"),
  changed: () => t("changed"),
};

type AuditEvent = AuditEntryView["event"];

interface Filter {
  event: AuditEvent | "";
  principal: string;
  tool: string;
  session_id: string;
  since: string;
}
const NO_FILTER: Filter = { event: "", principal: "", tool: "", session_id: "", since: "" };

function AuditPage(): JSX.Element {
  const [draft, setDraft] = useState(NO_FILTER);
  const [filter, setFilter] = useState(NO_FILTER);
  const [rows, setRows] = useState<AuditEntryView[] | null>(null);
  const [more, setMore] = useState(false);
  const load = async (before?: number): Promise<void> => {
    await reportErrors(async () => {
      const page = await call(listAudit, { ...filter, event: filter.event || null, limit: PAGE_SIZE, before });
      setRows((known) => (before === undefined ? page.items : [...(known ?? []), ...page.items]));
      setMore(page.more);
    });
  };
  useEffect(() => void load(), [filter]);
  const set = (name: keyof Filter) => (event: { currentTarget: { value: string } }): void => setDraft({ ...draft, [name]: event.currentTarget.value });
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Audit")}</h2>
      <p class="hint">{t("What became of each tool call, and what operators changed. Entries are chained: one that was altered or removed is found.")}</p>
      <VerifyPanel />
      <form class="new-row" role="search" aria-label={t("Audit")} onSubmit={(event) => (event.preventDefault(), setFilter(draft))}>
        <label>
          {t("Event")}
          <select value={draft.event} onChange={set("event")}>
            <option value="">{t("all")}</option>
            {Object.entries(EVENTS).map(([name, label]) => <option key={name} value={name}>{label()}</option>)}
          </select>
        </label>
        <label>{t("User")}<input value={draft.principal} maxLength={200} onInput={set("principal")} /></label>
        <label>{t("Tool")}<input value={draft.tool} maxLength={200} onInput={set("tool")} /></label>
        <label>{t("Conversation id")}<input value={draft.session_id} maxLength={200} onInput={set("session_id")} /></label>
        <label>{t("Since")}<input type="date" value={draft.since} onInput={set("since")} /></label>
        <button type="submit" class="primary">{t("Search")}</button>
      </form>
      {rows?.length === 0 &&
        (filter === NO_FILTER ? (
          <EmptyState title={t("No entries yet.")}>{t("Entries are written when the agent calls a tool, if the guard Audit is on, and when an operator changes this host.")}</EmptyState>
        ) : (
          <p class="empty">{t("No entry fits.")}</p>
        ))}
      <ol class="rows" aria-label={t("Entries, the newest first")}>{rows?.map((row) => <Entry key={row.number} row={row} />)}</ol>
      {more && <ActionButton label={t("Show older entries")} action={() => load(rows?.at(-1)?.number)}>{t("Show more")}</ActionButton>}
    </section>
  );
}

function VerifyPanel(): JSX.Element {
  const [found, setFound] = useState<{ entries: number; broken: number | null; problem: string } | null>(null);
  const verify = async (): Promise<void> => {
    setFound(null);
    await reportErrors(async () => setFound(await call(verifyAuditLog)));
  };
  return (
    <div class="row-end">
      <ActionButton label={t("Verify the chain")} action={verify}>{t("Verify the chain")}</ActionButton>
      <p role="status" class={found !== null && found.problem !== "" ? "problem" : "hint"}>
        {found !== null && (found.problem === "" ? plural(found.entries, "The chain is intact: {count} entry.", "The chain is intact: {count} entries.") : t("The chain is broken: {problem}", { problem: toOneLine(found.problem, 200) }))}
      </p>
    </div>
  );
}

function Entry({ row }: { row: AuditEntryView }): JSX.Element {
  const subject = row.tool || [row.capability, row.rule].filter((each) => each !== "").join(" ");
  const texts = (["input", "reason", "output"] as const).filter((name) => row[name]);
  return (
    <li>
      <Disclosure
        class="audit-entry"
        summary={
          <>
            <span class={`event ${row.event}`}>{EVENTS[row.event]?.() ?? toOneLine(row.event, 20)}</span>
            <code>{toOneLine(subject, 80)}</code>
            <span class="hint">
              {toOneLine(row.principal, 60)} · <time dateTime={row.at}>{formatTime(row.at)}</time>
            </span>
          </>
        }
      >
        {() => (
          <>
            <p class="hint" lang="en">
              {toOneLine([`#${row.number}`, row.outcome, row.risk, row.guard, row.tool === "" ? "" : row.rule].filter((each) => each !== "").join(" · "), 300)}
            </p>
            {texts.map((name) => <pre key={name} tabIndex={0}>{escapeControls(row[name] ?? "")}</pre>)}
            {row.session_id !== "" && <a href={routeUrl({ page: "session", id: row.session_id })}>{t("Open the conversation")}</a>}
          </>
        )}
      </Disclosure>
    </li>
  );
}
