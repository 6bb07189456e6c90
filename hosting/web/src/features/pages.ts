// The pages of the features, in the order of their links.
import { agentsPage } from "./agents/agents-page";
import { approvalsPage } from "./approvals/approvals-page";
import { goalsPage } from "./goals/goals-page";
import { auditPage } from "./guards/audit-page";
import { policyPage } from "./guards/policy-page";
import { hostPage } from "./host/host-page";
import { logsPage } from "./host/logs-page";
import { routingPage } from "./learning/routing-page";
import { memoryPage } from "./memory/memory-page";
import { schedulesPage } from "./schedules/schedules-page";
import { settingsPage } from "./settings/settings-page";
import { setupPage } from "./settings/setup-page";
import { accessPage } from "./tokens/access-page";
import { tracesPage } from "./traces/traces-page";
import { usagePage } from "./usage/usage-page";

export const PAGES = [
  approvalsPage,
  memoryPage,
  schedulesPage,
  goalsPage,
  agentsPage,
  tracesPage,
  usagePage,
  policyPage,
  hostPage,
  setupPage,
  settingsPage,
  accessPage,
  routingPage,
  auditPage,
  logsPage,
] as const;
