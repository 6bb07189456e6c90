// Lists that pages load from the host: their items, whether they are there yet, and what to show if there are none.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { reportErrors } from "../model/app-state";
import { t } from "../text/translate";
import { ApiError, call } from "../wire/http-api";
import type { HttpOperation } from "../wire/operation";
import type { NoFields } from "../wire/types";

/** The result of an operation; null until it is loaded. The second value loads it again. `onError` returns whether it shows the error itself. */
export function useLoaded<Request, Result>(operation: HttpOperation<Request, Result>, request: Request, onError: (error: unknown) => boolean = () => false): [Result | null, () => void] {
  const [loaded, setLoaded] = useState<Result | null>(null);
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    void reportErrors(async () => {
      try {
        const response = await call(operation, request);
        if (isCurrent) setLoaded(response);
      } catch (error) {
        if (!isCurrent || !onError(error)) throw error;
      }
    });
    return () => void (isCurrent = false);
  }, [operation, JSON.stringify(request), version]);
  return [loaded, () => setVersion((each) => each + 1)];
}

/** What a list is for and how to begin, where there is nothing in it. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty-state">
      <p>
        <strong>{title}</strong>
      </p>
      <p>{children}</p>
    </div>
  );
}

/** As `useLoaded`, of what only a host with settings files has; the third value is whether this host has none. */
export function useLoadedFromFiles<Result>(operation: HttpOperation<NoFields, Result>): [Result | null, () => void, boolean] {
  const [isWithout, setWithout] = useState(false);
  // The request has no input of its own: the host says so only if there are no files.
  const noteRefusal = (error: unknown): boolean => {
    const isRefused = error instanceof ApiError && error.code === "input";
    if (isRefused) setWithout(true);
    return isRefused;
  };
  return [...useLoaded(operation, {}, noteRefusal), isWithout];
}

/** Why a host that a program started has no settings to show, and which host has them. */
export function NoSettingsFiles(): JSX.Element {
  return (
    <EmptyState title={t("This host was started by a program.")}>
      {t("Its models and settings are in the code of that program, and are changed there. A host that is started with “sophon serve” reads them from settings files; they are shown and changed here.")}
    </EmptyState>
  );
}
