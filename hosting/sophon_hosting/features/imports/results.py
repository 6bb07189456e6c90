"""Results of imports: what of a file was stored."""

from sophon._python.lazy_typed_dict import TypedDict
from sophon_hosting.features.imports.conversation_import import MAX_LISTED, ImportReport


class ImportedSession(TypedDict):
    """A conversation that was stored."""

    session_id: str
    title: str


class SkippedConversationView(TypedDict):
    """A conversation that was not stored, and why."""

    title: str
    reason: str


class ImportReportView(TypedDict):
    """Numbers of an import, and the first conversations of each kind by name; nothing is stored in a dry run."""

    dry_run: bool
    imported: int
    skipped: int
    sessions: list[ImportedSession]
    not_imported: list[SkippedConversationView]


def import_report_to_json(report: ImportReport) -> ImportReportView:
    """Return what an import did as JSON."""
    return {
        "dry_run": report.is_dry_run,
        "imported": len(report.imported),
        "skipped": len(report.skipped),
        "sessions": [{"session_id": name, "title": title} for name, title in report.imported[:MAX_LISTED]],
        "not_imported": [{"title": each.title, "reason": each.reason} for each in report.skipped[:MAX_LISTED]],
    }
